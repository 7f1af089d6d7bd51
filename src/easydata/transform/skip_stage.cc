#include "easydata/transform/skip_stage.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/failing_stage.h"

namespace easydata::transform {
namespace {

using MakeStage = std::function<Result<std::unique_ptr<Stage>>()>;

class SkipStage : public FailingStage {
 public:
  SkipStage(MakeStage make, std::unique_ptr<Stage> upstream, int64_t rows)
      : make_(std::move(make)), upstream_(std::move(upstream)), left_(rows) {}

  Cursor Save() const override {
    return Cursor::Of([left = left_, upstream = upstream_->Save()] {
      return nlohmann::json{{"left", left}, {"upstream", upstream.ToJson()}};
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    left_ = cursor.at("left").get<int64_t>();
    is_entered_ = true;
    return upstream_->Restore(cursor.at("upstream"));
  }

  void Cancel() override {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    upstream_->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }

  StageStats stats() const override {
    StageStats stats = upstream_->stats();
    stats.rows = rows_;
    return stats;
  }

 private:
  Result<std::optional<Batch>> DoNext() override {
    if (!is_entered_) ARROW_RETURN_NOT_OK(Enter());
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
      if (!batch.has_value()) return std::nullopt;
      const int64_t dropped = std::min(left_, batch->num_rows());
      left_ -= dropped;
      if (dropped > 0 && dropped == batch->num_rows()) continue;
      if (dropped > 0) *batch = batch->Slice(dropped, batch->num_rows() - dropped);
      rows_ += batch->num_rows();
      return batch;
    }
  }

  /// Goes to the first row that is given, where that needs no reading.
  Status Enter() {
    is_entered_ = true;
    if (left_ == 0) return Status::OK();
    ARROW_ASSIGN_OR_RAISE(const bool is_there, upstream_->Seek(left_));
    if (is_there) {
      left_ = 0;
      return Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(auto again, make_());
    std::lock_guard<std::mutex> lock(mutex_);
    upstream_ = std::move(again);
    return cancelled_ ? Status::Cancelled("the stream was closed") : Status::OK();
  }

  const MakeStage make_;
  std::unique_ptr<Stage> upstream_;
  int64_t left_;
  bool is_entered_ = false;
  int64_t rows_ = 0;
  std::mutex mutex_;  // guards upstream_ against Cancel()
  bool cancelled_ = false;
};

}  // namespace

Result<std::unique_ptr<Stage>> MakeSkipStage(MakeStage make, int64_t rows) {
  ARROW_ASSIGN_OR_RAISE(auto upstream, make());
  return std::make_unique<SkipStage>(std::move(make), std::move(upstream), rows);
}

}  // namespace easydata::transform
