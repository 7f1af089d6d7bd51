#include "easydata/plan/file_rows.h"

#include <algorithm>
#include <utility>

namespace easydata::plan {
namespace {

source::OnError LookPolicy(source::OnError policy) {
  using enum source::OnError;
  return policy == kRaise ? kRaise : kSkip;
}

class FileRowsPlan : public LogicalPlan {
 public:
  FileRowsPlan(std::shared_ptr<const source::Source> source, source::SourceStageOptions options,
               std::optional<std::vector<std::string>> columns)
      : source_(std::move(source)), options_(std::move(options)), columns_(std::move(columns)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    return MakeShuffled(request, {});
  }

  Result<StreamPlan> MakeShuffled(const Request& request,
                                  const source::SourceShuffleOptions& order) const override {
    source::SourceStageOptions options = options_;
    ARROW_ASSIGN_OR_RAISE(options.columns, Narrowed(request.columns));
    options.shards = request.shards;
    options.start_row = request.start_row;
    options.shuffle = order;
    options.is_look = request.is_look;
    options.numbers_rows = request.numbers_rows;
    if (request.is_look) {
      options.errors = {LookPolicy(options.errors.on_error), LookPolicy(options.errors.on_missing),
                        std::nullopt};
      options.report = nullptr;
    }
    return source::SourcePlan(source_, std::move(options));
  }

  bool CanSeek() const override { return true; }

  Result<std::optional<std::vector<ShardRows>>> StatedRows() const override {
    // A file that is lost today may be there tomorrow.
    if (options_.errors.on_missing != source::OnError::kRaise) return std::nullopt;
    std::vector<ShardRows> out;
    const auto& names = source_->shard_names();
    for (size_t i = 0; i < names.size(); ++i) {
      ARROW_ASSIGN_OR_RAISE(const auto rows, source_->KnownRows(i));
      if (!rows.has_value()) return std::nullopt;
      out.push_back({names[i], *rows});
    }
    return out;
  }

  Result<std::optional<source::FirstRows>> Peek(int64_t num_rows) const override {
    return Readable(source_->Peek(num_rows, LookPolicy(options_.errors.on_error)));
  }
  Result<std::optional<source::FirstRows>> PeekForms(int64_t num_rows) const override {
    return Readable(source_->PeekForms(num_rows, LookPolicy(options_.errors.on_error)));
  }

 protected:
  Result<std::shared_ptr<arrow::Schema>> Schema(bool is_look) const override {
    source::SourceStageOptions options = options_;
    options.is_look = is_look;
    ARROW_ASSIGN_OR_RAISE(options.columns, Narrowed(std::nullopt));
    return source::SourceSchema(*source_, options);
  }

 private:
  /// What was peeked at. Of an error, and where it is, reading on tells.
  static source::FirstRows Readable(Result<source::FirstRows> peeked) {
    return peeked.ok() ? *std::move(peeked) : source::FirstRows();
  }

  /// The columns to read, of those that the source was made to read.
  Result<Columns> Narrowed(const Columns& asked) const {
    if (!columns_.has_value()) return asked;
    if (!asked.has_value()) {
      Columns all(std::in_place);
      for (const std::string& name : *columns_) all->push_back({name, ColumnKind::kAny});
      return all;
    }
    std::string missing;
    for (const ColumnRequest& column : *asked) {
      if (std::find(columns_->begin(), columns_->end(), column.name) != columns_->end()) continue;
      missing += (missing.empty() ? "" : ", ") + column.name;
    }
    if (missing.empty()) return asked;
    std::string known;
    for (const std::string& name : *columns_) known += (known.empty() ? "" : ", ") + name;
    return Status::KeyError(missing, ": not among the columns that this source was made to read (",
                            known, ")");
  }

  const std::shared_ptr<const source::Source> source_;
  const source::SourceStageOptions options_;
  const std::optional<std::vector<std::string>> columns_;
};

}  // namespace

LogicalPlanPtr FileRows(std::shared_ptr<const source::Source> source,
                        source::SourceStageOptions options,
                        std::optional<std::vector<std::string>> columns) {
  return std::make_shared<FileRowsPlan>(std::move(source), std::move(options), std::move(columns));
}

}  // namespace easydata::plan
