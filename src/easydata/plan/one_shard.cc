#include "easydata/plan/one_shard.h"

#include <algorithm>
#include <utility>

#include "easydata/exec/thread_pool.h"
#include "easydata/plan/concat_plan.h"
#include "easydata/plan/limit_plan.h"

namespace easydata::plan {
namespace {

class OneShardPlan : public LogicalPlan {
 public:
  OneShardPlan(LogicalPlanPtr files, std::shared_ptr<const source::Source> source, std::string name,
               std::optional<std::vector<RowRange>> ranges, LogicalPlanPtr rows)
      : files_(std::move(files)),
        source_(std::move(source)),
        name_(std::move(name)),
        ranges_(std::move(ranges)),
        rows_(std::move(rows)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    ARROW_RETURN_NOT_OK(CheckOnlyShard(request, name_, "the dataset"));
    if (!ranges_.has_value()) return Rows(request, request.start_row, std::nullopt);
    std::vector<source::ConcatPart> parts;
    int64_t passed_over = request.start_row;
    for (size_t i = 0; i < ranges_->size(); ++i) {
      const RowRange& range = (*ranges_)[i];
      const int64_t begin = std::min(range.begin + passed_over, range.end);
      passed_over -= begin - range.begin;
      // One that has no rows tells the columns where no other does.
      if (begin == range.end && (i + 1 < ranges_->size() || !parts.empty())) continue;
      ARROW_ASSIGN_OR_RAISE(StreamPlan rows, Rows(request, begin, range.end));
      parts.push_back({std::move(rows), {}});
    }
    if (parts.size() == 1) return std::move(parts.front().plan);
    ARROW_ASSIGN_OR_RAISE(auto joined, ConcatInCommonColumns(std::move(parts), request.columns));
    if (joined.has_value()) return *std::move(joined);
    return Status::Invalid(name_,
                           ": the ranges of rows have columns of their own, which have no types "
                           "in common; read one range, or name the columns");
  }

  Result<StreamPlan> MakeShuffled(const Request& request,
                                  const source::SourceShuffleOptions& order) const override {
    ARROW_RETURN_NOT_OK(CheckOnlyShard(request, name_, "the dataset"));
    if (ranges_.has_value()) {
      return rows_ == nullptr ? LogicalPlan::MakeShuffled(request, order)
                              : rows_->MakeShuffled(request, order);
    }
    Request of_files = request;
    of_files.shards.reset();
    return files_->MakeShuffled(of_files, order);
  }

  bool CanSeek() const override { return true; }

  Result<std::optional<std::vector<ShardRows>>> StatedRows() const override {
    if (ranges_.has_value()) return std::nullopt;
    return files_->StatedRows();
  }

  Result<std::optional<source::FirstRows>> Peek(int64_t num_rows) const override {
    if (ranges_.has_value()) return std::nullopt;
    return files_->Peek(num_rows);
  }
  Result<std::optional<source::FirstRows>> PeekForms(int64_t num_rows) const override {
    if (ranges_.has_value()) return std::nullopt;
    return files_->PeekForms(num_rows);
  }

 private:
  /// The rows from one on, or up to another.
  Result<StreamPlan> Rows(const Request& request, int64_t begin, std::optional<int64_t> end) const {
    Request of_files = request;
    of_files.start_row = 0;
    of_files.shards.reset();
    if (begin > 0 && source_->shard_names().size() > 0) {
      size_t file = 0;
      int64_t row = begin;
      for (; file + 1 < source_->shard_names().size(); ++file) {
        ARROW_ASSIGN_OR_RAISE(const int64_t rows, RowsOf(file));
        if (row < rows) break;
        row -= rows;
      }
      of_files.start_row = row;
      const auto& names = source_->shard_names();
      of_files.shards.emplace(names.begin() + static_cast<std::ptrdiff_t>(file), names.end());
    }
    ARROW_ASSIGN_OR_RAISE(StreamPlan rows, files_->Make(of_files));
    if (!end.has_value()) return rows;
    return LimitPlan(rows, *end - begin);
  }

  Result<int64_t> RowsOf(size_t file) const {
    ARROW_ASSIGN_OR_RAISE(const auto known, source_->KnownRows(file));
    if (known.has_value()) return *known;
    return source_->CountRows(file, {std::make_shared<exec::ThreadPool>(1), [](int64_t) {}});
  }

  const LogicalPlanPtr files_;
  const std::shared_ptr<const source::Source> source_;
  const std::string name_;
  const std::optional<std::vector<RowRange>> ranges_;
  const LogicalPlanPtr rows_;
};

}  // namespace

LogicalPlanPtr OneShard(LogicalPlanPtr files, std::shared_ptr<const source::Source> source,
                        std::string name, std::optional<std::vector<RowRange>> ranges,
                        LogicalPlanPtr rows) {
  return std::make_shared<OneShardPlan>(std::move(files), std::move(source), std::move(name),
                                        std::move(ranges), std::move(rows));
}

}  // namespace easydata::plan
