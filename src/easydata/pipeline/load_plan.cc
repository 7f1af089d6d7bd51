#include "easydata/pipeline/load_plan.h"

#include <limits>
#include <utility>

#include "easydata/config/descriptor.h"
#include "easydata/order/repeat_stage.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/pack/balance_stage.h"

namespace easydata {
namespace {

Status CheckTogether(const LoadOptions& options) {
  if (options.epochs.has_value() && options.loader.steps.steps.has_value()) {
    return Status::Invalid(
        "epochs: has no meaning beside steps: passes follow each other up to the last step; give "
        "one of the two");
  }
  ARROW_RETURN_NOT_OK(config::CheckBounds(options));
  if (!options.bucket_batches.has_value()) return Status::OK();
  const int64_t batch_size = options.loader.steps.batch_size;
  if (batch_size > 0 &&
      *options.bucket_batches > std::numeric_limits<int64_t>::max() / batch_size) {
    return Status::Invalid("bucket_batches: so many rows cannot be counted");
  }
  return Status::OK();
}

/// Invalid where rows are not balanced for the loader's steps.
Status CheckBalance(const StreamPlan& plan, const LoadOptions& options) {
  const int64_t groups = plan.facts().balance_groups;
  if (groups == 0) return Status::OK();
  ARROW_RETURN_NOT_OK(
      (BalanceOptions{groups, options.loader.steps.AsDemand().step_rows}).Validate());
  if (options.shuffle_buffer_size.has_value()) {
    return Status::Invalid(
        "shuffle_buffer_size: would shuffle rows behind balance_groups, which puts them in order "
        "by what they cost; leave it out, and give PackedShardedSource(shuffle=True), which "
        "shuffles before that");
  }
  const PlanNode* node = plan.node.get();
  for (; node->name != "pack.balance"; node = node->inputs[0].node.get()) {
    if (node->keeps_row_count) continue;
    return Status::Invalid(
        "balance_groups orders the rows of a loader's step, and ", node->name,
        ", which lies between, may leave rows out or add some; do that before the rows are packed");
  }
  return Status::OK();
}

Result<StreamPlan> Shuffled(const StreamPlan& plan, const LoadOptions& options) {
  if (!options.shuffle_buffer_size.has_value()) return plan;
  WindowShuffleOptions shuffle;
  shuffle.rows = *options.shuffle_buffer_size;
  shuffle.seed = options.seed;
  shuffle.in_steps = true;
  return WindowShufflePlan(plan, shuffle, "loader.shuffle");
}

/// Puts rows of about one length into one step. Passes are joined upstream of that, so that the
/// rows left over at the end of one make up a bucket with those of the next.
Result<StreamPlan> Bucketed(StreamPlan plan, LoadOptions* options) {
  if (!options->bucket_batches.has_value()) return plan;
  if (plan.facts().is_packed) {
    return Status::Invalid(
        "bucket_batches: packed rows are all of one length; leave it out, or do not pack");
  }
  StepOptions& steps = options->loader.steps;
  if (steps.steps.has_value()) {
    ARROW_ASSIGN_OR_RAISE(plan, RepeatPlan(plan, std::nullopt));
  } else if (steps.passes > 1) {
    ARROW_ASSIGN_OR_RAISE(plan, RepeatPlan(plan, steps.passes));
    steps.passes = 1;
  }
  WindowShuffleOptions buckets;
  buckets.rows = *options->bucket_batches * steps.batch_size;
  buckets.bucket_rows = steps.batch_size;
  buckets.seed = options->seed;
  buckets.in_steps = true;
  return WindowShufflePlan(plan, buckets, "loader.buckets");
}

}  // namespace

Result<std::unique_ptr<Loader>> MakeLoader(StreamPlan plan, LoadOptions options) {
  if (options.epochs.has_value()) options.loader.steps.passes = *options.epochs;
  ARROW_RETURN_NOT_OK(CheckTogether(options));
  ARROW_RETURN_NOT_OK(Loader::Check(plan, options.loader));
  ARROW_RETURN_NOT_OK(CheckBalance(plan, options));
  ARROW_ASSIGN_OR_RAISE(plan, Shuffled(plan, options));
  ARROW_ASSIGN_OR_RAISE(plan, Bucketed(std::move(plan), &options));
  return Loader::Make(std::move(plan), std::move(options.loader));
}

}  // namespace easydata
