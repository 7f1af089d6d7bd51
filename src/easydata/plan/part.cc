#include "easydata/plan/part.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/base/hash.h"
#include "easydata/source/file_list.h"
#include "easydata/stream/block_store.h"
#include "easydata/stream/forwarding_stage.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/vocabulary.h"
#include "easydata/transform/project_columns.h"

namespace easydata::plan {
namespace {

/// Leaves all work on its rows to the stage downstream, which sees them with their numbers: a task
/// that reads text does not know them yet.
class NumberedRowsStage : public ForwardingStage {
 public:
  using ForwardingStage::ForwardingStage;

  bool SkipGathering() override { return false; }
  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override { return false; }
  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    return std::string(
        "its rows are a part of those of their blocks; keep them before they are split");
  }
};

using PlacesFunction = std::function<Result<std::shared_ptr<const transform::RowPlaces>>()>;

nlohmann::json Described(const transform::PartOptions& options) {
  nlohmann::json parts = nlohmann::json::array();
  for (const auto& [name, share] : options.parts->values) parts.push_back({name, share});
  nlohmann::json described = {
      {"parts", parts}, {"part", *options.part}, {"seed", options.part_seed}};
  if (options.part_by.has_value()) described["by"] = *options.part_by;
  return described;
}

class PartPlan : public LogicalPlan {
 public:
  PartPlan(LogicalPlanPtr input, transform::PartOptions options)
      : input_(std::move(input)), options_(std::move(options)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    ARROW_ASSIGN_OR_RAISE(const StreamPlan rows, input_->Make(OfInput(request)));
    return KeepPart(rows, request);
  }

  Result<StreamPlan> MakeShuffled(const Request& request,
                                  const source::SourceShuffleOptions& order) const override {
    ARROW_ASSIGN_OR_RAISE(const StreamPlan rows, input_->MakeShuffled(OfInput(request), order));
    return KeepPart(rows, request);
  }

 protected:
  Result<std::shared_ptr<arrow::Schema>> Schema(bool is_look) const override {
    Request request;
    request.is_look = is_look;
    ARROW_ASSIGN_OR_RAISE(const StreamPlan rows, input_->Make(request));
    return rows.schema();
  }

 private:
  bool AddsColumn(const Request& request) const {
    return options_.part_by.has_value() && request.columns.has_value() &&
           FindColumn(*request.columns, *options_.part_by) == nullptr;
  }

  Request OfInput(const Request& request) const {
    Request of_input = request;
    if (!options_.part_by.has_value()) {
      of_input.numbers_rows = true;
    } else if (AddsColumn(request)) {
      of_input.columns->push_back({*options_.part_by, ColumnKind::kAny});
    }
    return of_input;
  }

  Result<StreamPlan> KeepPart(const StreamPlan& rows, const Request& request) const {
    if (rows.facts().is_packed) {
      return Status::Invalid(
          "packed rows are made of documents of any part; split the documents, and pack the parts");
    }
    auto node = MakeNode("part", Described(options_), rows);
    StreamPlan plan;
    plan.schema = rows.schema;
    plan.node = std::move(node);
    plan.make = [make = rows.make, places = PlacesOf(rows), options = options_](
                    const StageContext& context) -> Result<std::unique_ptr<Stage>> {
      ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
      ARROW_ASSIGN_OR_RAISE(auto found, places());
      return MakeMapStage(std::make_unique<NumberedRowsStage>(std::move(stage)),
                          transform::PartRows(options, std::move(found)), context);
    };
    if (!AddsColumn(request)) return plan;
    std::vector<std::string> asked;
    for (const ColumnRequest& column : *request.columns) asked.push_back(column.name);
    return MapPlan(plan, transform::SelectColumns(std::move(asked)));
  }

  /// The places of the input's rows; files are asked for their rows once.
  PlacesFunction PlacesOf(const StreamPlan& rows) const {
    using Places = std::shared_ptr<const transform::RowPlaces>;
    std::vector<std::string> files;
    VisitNodes(*rows.node, [&](const PlanNode& node) {
      if (node.files != nullptr) files.insert(files.end(), node.files->begin(), node.files->end());
    });
    return AskedOnce<Places>(
        [input = input_, files = std::move(files), options = options_]() -> Result<Places> {
          auto places = std::make_shared<transform::RowPlaces>();
          const auto names = source::FileList::NamesBelowFolder(files);
          for (size_t i = 0; i < files.size(); ++i) {
            places->shards[files[i]].key = Hash64(names[i], options.part_seed);
          }
          if (options.part_by.has_value()) return places;
          ARROW_ASSIGN_OR_RAISE(const auto stated, input->StatedRows());
          if (!stated.has_value()) return places;
          places->num_rows = 0;
          for (const ShardRows& shard : *stated) {
            places->shards[shard.shard].first = *places->num_rows;
            *places->num_rows += shard.rows;
          }
          return places;
        });
  }

  const LogicalPlanPtr input_;
  const transform::PartOptions options_;
};

}  // namespace

Result<LogicalPlanPtr> Part(LogicalPlanPtr input, transform::PartOptions options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  return std::make_shared<PartPlan>(std::move(input), std::move(options));
}

}  // namespace easydata::plan
