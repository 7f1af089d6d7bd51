#include "easydata/transform/limit_stage.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "easydata/stream/apply_ops.h"
#include "easydata/stream/block_store.h"

namespace easydata::transform {
namespace {

class LimitStage : public Stage {
 public:
  LimitStage(std::unique_ptr<Stage> upstream, int64_t max_rows)
      : upstream_(std::move(upstream)), limit_(std::make_shared<RowLimit>(RowLimit{max_rows})) {}

  Result<std::optional<Batch>> Next() override {
    if (limit_->rows >= limit_->max_rows) {
      // Whatever was read ahead is not needed any more.
      upstream_->Cancel();
      return std::nullopt;
    }
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (!batch.has_value()) return std::nullopt;
    if (is_upstreams_) {
      limit_->rows += batch->read_rows;
      num_rows_ += batch->num_rows();
      return batch;
    }
    const int64_t rows = std::min(batch->num_rows(), limit_->max_rows - limit_->rows);
    if (rows < batch->num_rows()) *batch = batch->Slice(0, rows);
    limit_->rows += rows;
    return batch;
  }

  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    if (keeping.counted == nullptr) return KeepBelow(ops, keeping);
    std::optional<int64_t>& left = keeping.counted->rows_left;
    const std::optional<int64_t> outer = left;
    const int64_t own = std::min(outer.value_or(limit_->max_rows), limit_->max_rows);
    left = own;
    ARROW_ASSIGN_OR_RAISE(std::string problem, KeepBelow(ops, keeping));
    left = outer.has_value() ? std::optional(*outer - own + left.value_or(0)) : std::nullopt;
    return problem;
  }

  Cursor Save() const override {
    return Cursor::Of([rows = limit_->rows, upstream = upstream_->Save()] {
      return nlohmann::json{{"rows", rows}, {"upstream", upstream.ToJson()}};
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    limit_->rows = cursor.at("rows").get<int64_t>();
    return upstream_->Restore(cursor.at("upstream"));
  }

  void Cancel() override { upstream_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }
  StageStats stats() const override {
    StageStats stats = upstream_->stats();
    stats.rows = is_upstreams_ ? num_rows_ : limit_->rows;
    // It ends with its rows, or with those upstream.
    const double of_rows = static_cast<double>(limit_->rows) /
                           static_cast<double>(std::max<int64_t>(limit_->max_rows, 1));
    const ReadShare whole = {.whole = static_cast<double>(limit_->max_rows), .in_bytes = false};
    stats.read = whole.Of(std::max(of_rows, stats.read.share().value_or(0)));
    return stats;
  }

 private:
  Result<std::string> KeepBelow(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                const BlockKeeping& keeping) {
    if (AllKeepRows(ops)) return upstream_->KeepBlocks(ops, keeping);
    if (keeping.limit != nullptr) return std::string("it has two limits");
    BlockKeeping limited = keeping;
    limited.limit = limit_;
    ARROW_ASSIGN_OR_RAISE(std::string problem, upstream_->KeepBlocks(ops, limited));
    is_upstreams_ = problem.empty();
    return problem;
  }

  std::unique_ptr<Stage> upstream_;
  const std::shared_ptr<RowLimit> limit_;
  bool is_upstreams_ = false;  // it gives no more rows than there may be
  int64_t num_rows_ = 0;       // given out then
};

}  // namespace

Result<std::unique_ptr<Stage>> MakeLimitStage(std::unique_ptr<Stage> upstream, int64_t max_rows) {
  if (max_rows < 0) return Status::Invalid("max_rows must not be negative, got ", max_rows);
  return std::make_unique<LimitStage>(std::move(upstream), max_rows);
}

}  // namespace easydata::transform
