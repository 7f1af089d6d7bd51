#include "easydata/order/repeat_stage.h"

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/failing_stage.h"

namespace easydata::order {
namespace {

/// `context` for pass number `pass`. A damaged state may have any epoch: numbers wrap around.
StageContext OfPass(StageContext context, std::optional<int64_t> passes, int64_t pass) {
  const auto before =
      static_cast<uint64_t>(context.epoch) * static_cast<uint64_t>(passes.value_or(1));
  context.epoch = static_cast<int64_t>(before + static_cast<uint64_t>(pass));
  return context;
}

class RepeatStage : public FailingStage {
 public:
  RepeatStage(StageFactory make, std::optional<int64_t> passes, const StageContext& context,
              std::unique_ptr<Stage> first)
      : make_(std::move(make)), passes_(passes), context_(context), stage_(std::move(first)) {}

  Cursor Save() const override {
    return Cursor::Of([pass = pass_, upstream = stage_->Save()] {
      return nlohmann::json{{"pass", pass}, {"upstream", upstream.ToJson()}};
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    pass_ = cursor.at("pass").get<int64_t>();
    if (pass_ > 0) ARROW_RETURN_NOT_OK(MakePass());
    pass_has_rows_ = true;  // as far as is known
    return stage_->Restore(cursor.at("upstream"));
  }

  Result<std::optional<int64_t>> NumRows() override {
    if (!passes_.has_value()) return std::nullopt;
    ARROW_ASSIGN_OR_RAISE(auto rows, stage_->NumRows());
    for (int64_t pass = 1; pass < *passes_ && rows.has_value(); ++pass) {
      if (cancelled_) return Status::Cancelled("the stream was closed");
      ARROW_ASSIGN_OR_RAISE(auto stage, make_(OfPass(context_, passes_, pass)));
      ARROW_ASSIGN_OR_RAISE(const auto of_pass, stage->NumRows());
      if (!of_pass.has_value()) return std::nullopt;
      *rows += *of_pass;
    }
    return rows;
  }

  void Cancel() override {
    cancelled_ = true;
    std::lock_guard<std::mutex> lock(mutex_);
    stage_->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return stage_->schema(); }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = num_rows_;
    stats.AddUpstream(past_);
    const StageStats now = stage_->stats();
    stats.AddUpstream(now);
    stats.read = now.read;
    stats.read.is_known = stats.read.is_known && passes_.has_value();
    stats.read.done += static_cast<double>(pass_) * now.read.whole;
    stats.read.whole *= static_cast<double>(passes_.value_or(1));
    return stats;
  }

 private:
  Result<std::optional<Batch>> DoNext() override {
    for (;;) {
      if (cancelled_) return Status::Cancelled("the stream was closed");
      ARROW_ASSIGN_OR_RAISE(auto batch, stage_->Next());
      if (batch.has_value()) {
        pass_has_rows_ = pass_has_rows_ || batch->num_rows() > 0;
        num_rows_ += batch->num_rows();
        if (const int64_t epoch = OfPass(context_, passes_, pass_).epoch; epoch > 0) {
          batch->addresses =
              batch->addresses.Renamed([&](const auto& shard) { return shards_.Of(shard, epoch); });
        }
        return batch;
      }
      if (passes_.has_value() && pass_ + 1 >= *passes_) return std::nullopt;
      if (!passes_.has_value() && !pass_has_rows_) {
        return Status::Invalid(
            "the stream is to be repeated for ever, but it has no rows; look at ",
            "what filters its rows out", context_.OrFewerLanes());
      }
      ++pass_;
      ARROW_RETURN_NOT_OK(MakePass());
      pass_has_rows_ = false;
    }
  }

  Status MakePass() {
    ARROW_ASSIGN_OR_RAISE(auto stage, make_(OfPass(context_, passes_, pass_)));
    std::lock_guard<std::mutex> lock(mutex_);
    past_.AddUpstream(stage_->stats());
    stage_ = std::move(stage);
    if (cancelled_) stage_->Cancel();
    return Status::OK();
  }

  const StageFactory make_;
  const std::optional<int64_t> passes_;
  const StageContext context_;
  std::unique_ptr<Stage> stage_;
  int64_t pass_ = 0;
  ShardNames shards_;
  bool pass_has_rows_ = false;
  int64_t num_rows_ = 0;
  StageStats past_;
  std::mutex mutex_;  // guards stage_ against Cancel()
  std::atomic<bool> cancelled_{false};
};

}  // namespace

Result<std::unique_ptr<Stage>> MakeRepeatStage(StageFactory make, std::optional<int64_t> passes,
                                               const StageContext& context) {
  if (passes.has_value() && *passes < 1) {
    return Status::Invalid("a stream is repeated at least once; epochs is ", *passes);
  }
  ARROW_ASSIGN_OR_RAISE(auto first, make(OfPass(context, passes, 0)));
  return std::make_unique<RepeatStage>(std::move(make), passes, context, std::move(first));
}

Result<StreamPlan> RepeatPlan(const StreamPlan& upstream, std::optional<int64_t> passes) {
  if (passes.has_value() && *passes < 1) {
    return Status::Invalid("a stream is repeated at least once; epochs is ", *passes);
  }
  if (!passes.has_value() && upstream.facts().is_endless()) return upstream;
  nlohmann::json described;
  described["passes"] = passes.has_value() ? nlohmann::json(*passes) : nlohmann::json(nullptr);
  auto node = MakeNode("repeat", described, upstream);
  node->facts.carries_passes = false;
  node->facts.divide = nullptr;
  node->facts.why_undivided = "rows that are repeated";
  if (!passes.has_value()) {
    node->facts.finitude = Finitude::kEndless;
    node->facts.why_endless = "epochs: a source is repeated for ever; give a number";
  }
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = upstream.schema;
  plan.make = [make = upstream.make, passes](const StageContext& context) {
    return MakeRepeatStage(make, passes, context);
  };
  return plan;
}

}  // namespace easydata::order
