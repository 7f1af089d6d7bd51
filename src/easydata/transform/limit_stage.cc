#include "easydata/transform/limit_stage.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "easydata/stream/apply_ops.h"

namespace easydata::transform {
namespace {

class LimitStage : public Stage {
 public:
  LimitStage(std::unique_ptr<Stage> upstream, int64_t max_rows)
      : upstream_(std::move(upstream)), max_rows_(max_rows) {}

  Result<std::optional<Batch>> Next() override {
    if (rows_ >= max_rows_) {
      // Whatever was read ahead is not needed any more.
      upstream_->Cancel();
      return std::nullopt;
    }
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (!batch.has_value()) return std::nullopt;
    const int64_t rows = std::min(batch->num_rows(), max_rows_ - rows_);
    if (rows < batch->num_rows()) *batch = batch->Slice(0, rows);
    rows_ += rows;
    return batch;
  }

  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    if (AllKeepRows(ops)) return upstream_->KeepBlocks(ops, keeping);
    return std::string("a limit counts rows that are left out behind it");
  }

  Cursor Save() const override {
    return Cursor::Of([rows = rows_, upstream = upstream_->Save()] {
      return nlohmann::json{{"rows", rows}, {"upstream", upstream.ToJson()}};
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    rows_ = cursor.at("rows").get<int64_t>();
    return upstream_->Restore(cursor.at("upstream"));
  }

  void Cancel() override { upstream_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }
  StageStats stats() const override {
    StageStats stats = upstream_->stats();
    stats.rows = rows_;
    return stats;
  }

 private:
  std::unique_ptr<Stage> upstream_;
  const int64_t max_rows_;
  int64_t rows_ = 0;
};

}  // namespace

Result<std::unique_ptr<Stage>> MakeLimitStage(std::unique_ptr<Stage> upstream, int64_t max_rows) {
  if (max_rows < 0) return Status::Invalid("max_rows must not be negative, got ", max_rows);
  return std::make_unique<LimitStage>(std::move(upstream), max_rows);
}

}  // namespace easydata::transform
