#include "easydata/stream/memory_stage.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <utility>

namespace easydata {
namespace {

class MemoryStage : public Stage {
 public:
  MemoryStage(std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
              std::shared_ptr<arrow::Schema> schema, ShardRef shard)
      : batches_(std::move(batches)),
        schema_(std::move(schema)),
        shard_(std::make_shared<const ShardRef>(std::move(shard))) {}

  Result<std::optional<Batch>> Next() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    if (next_ == batches_.size()) return std::nullopt;
    Batch batch;
    batch.rows = batches_[next_++]->Slice(std::exchange(skip_, 0));
    batch.addresses = Addresses(shard_, row_, batch.rows->num_rows());
    row_ += batch.rows->num_rows();
    return batch;
  }

  Cursor Save() const override {
    return Cursor::Of([next = next_, skip = skip_] {
      nlohmann::json cursor = {{"batch", next}};
      if (skip > 0) cursor["skip"] = skip;
      return cursor;
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    next_ = cursor.at("batch").get<size_t>();
    if (next_ > batches_.size()) {
      return Status::Invalid("the saved position is past the end: batch ", next_, " of ",
                             batches_.size());
    }
    skip_ = cursor.value("skip", int64_t{0});
    row_ = skip_;
    for (size_t i = 0; i < next_; ++i) row_ += batches_[i]->num_rows();
    return Status::OK();
  }

  Result<std::optional<int64_t>> NumRows() override {
    int64_t rows = 0;
    for (const auto& batch : batches_) rows += batch->num_rows();
    return rows;
  }

  Result<bool> Seek(int64_t row) override {
    for (row_ = 0; next_ < batches_.size(); ++next_) {
      const int64_t rows = batches_[next_]->num_rows();
      if (row < row_ + rows) break;
      row_ += rows;
    }
    skip_ = row - row_;
    row_ = row;
    return next_ < batches_.size();
  }

  void Cancel() override { cancelled_ = true; }
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  StageStats stats() const override {
    StageStats stats;
    stats.rows = row_;
    stats.read.in_bytes = false;
    stats.read.done = static_cast<double>(row_);
    for (const auto& batch : batches_) {
      stats.read.whole += static_cast<double>(batch->num_rows());
    }
    return stats;
  }

 private:
  const std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::shared_ptr<const ShardRef> shard_;
  size_t next_ = 0;
  int64_t skip_ = 0;  // rows of that batch that are not given
  int64_t row_ = 0;
  std::atomic<bool> cancelled_{false};
};

}  // namespace

Result<std::unique_ptr<Stage>> MakeMemoryStage(
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches, std::shared_ptr<arrow::Schema> schema,
    std::string source_name, std::string shard_name) {
  for (const auto& batch : batches) {
    if (!batch->schema()->Equals(*schema)) {
      return Status::TypeError("a batch in memory has another schema: ",
                               batch->schema()->ToString(), " instead of ", schema->ToString());
    }
  }
  return std::make_unique<MemoryStage>(std::move(batches), std::move(schema),
                                       ShardRef{std::move(source_name), std::move(shard_name)});
}

}  // namespace easydata
