#include "easydata/plan/packed.h"

#include <algorithm>
#include <utility>

#include "easydata/pack/packing_strategy.h"

namespace easydata::plan {
namespace {

class PackedRowsPlan : public LogicalPlan {
 public:
  PackedRowsPlan(LogicalPlanPtr input, PackedOptions options)
      : input_(std::move(input)), options_(std::move(options)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    ARROW_RETURN_NOT_OK(CheckOnlyShard(request, kPackedShard, "packed rows"));
    PackedOptions options = options_;
    ARROW_ASSIGN_OR_RAISE(options.pack.token_fields, TokenFields());
    Request documents;
    documents.columns.emplace();
    documents.columns->push_back({options.pack.input_field, ColumnKind::kTokens});
    for (const std::string& field : *options.pack.token_fields) {
      if (FindColumn(*documents.columns, field) == nullptr) {
        documents.columns->push_back({field, ColumnKind::kTokens});
      }
    }
    documents.whole_documents = pack::SplitsDocuments(options.pack);
    ARROW_ASSIGN_OR_RAISE(const StreamPlan plan, input_->Make(documents));
    return PackedPlan(plan, options);
  }

 private:
  Result<std::vector<std::string>> TokenFields() const {
    if (options_.pack.token_fields.has_value()) return *options_.pack.token_fields;
    ARROW_ASSIGN_OR_RAISE(const auto known, input_->FieldNames());
    std::vector<std::string> fields;
    for (const std::string& name : pack::DefaultTokenFields()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) fields.push_back(name);
    }
    return fields;
  }

  const LogicalPlanPtr input_;
  const PackedOptions options_;
};

}  // namespace

LogicalPlanPtr Packed(LogicalPlanPtr input, PackedOptions options) {
  return std::make_shared<PackedRowsPlan>(std::move(input), std::move(options));
}

}  // namespace easydata::plan
