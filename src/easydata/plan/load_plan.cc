#include "easydata/plan/load_plan.h"

#include <limits>
#include <utility>

#include "easydata/config/descriptor.h"
#include "easydata/config/option_error.h"
#include "easydata/order/repeat_stage.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/pack/balance_stage.h"

namespace easydata::plan {
namespace {

/// Invalid where rows are not balanced for the loader's steps.
Status CheckBalance(const StreamPlan& plan, const LoadOptions& options) {
  const int64_t groups = plan.facts().balance_groups;
  if (groups == 0) return Status::OK();
  ARROW_RETURN_NOT_OK(
      (pack::BalanceOptions{groups, options.loader.steps.AsDemand().step_rows}).Validate());
  if (options.shuffle_buffer_size.has_value()) {
    return Status::Invalid(
        "shuffle_buffer_size: would shuffle rows after balance_groups, which puts them in order "
        "by what they cost; leave it out, and give PackedShardedSource(shuffle=True), which "
        "shuffles before that");
  }
  // The node that balances rows reads some that are not balanced.
  const PlanNode* node = plan.node.get();
  while (node->inputs[0].node->facts.balance_groups > 0) {
    if (!node->keeps_row_count) {
      return Status::Invalid(
          "balance_groups orders the rows of a loader's step, and ", node->name,
          ", which lies between, may leave rows out or add some; do that before the rows are "
          "packed");
    }
    node = node->inputs[0].node.get();
  }
  return Status::OK();
}

Result<StreamPlan> WithRowsShuffled(const StreamPlan& plan, const LoadOptions& options) {
  if (!options.shuffle_buffer_size.has_value()) return plan;
  order::WindowShuffleOptions shuffle;
  shuffle.rows = *options.shuffle_buffer_size;
  shuffle.seed = options.seed;
  shuffle.in_steps = true;
  return order::WindowShufflePlan(plan, shuffle, "loader.shuffle");
}

/// Puts rows of about one length into one step. Passes are joined upstream of that, so that the
/// rows left over at the end of one make up a bucket with those of the next.
Result<StreamPlan> Bucketed(StreamPlan plan, LoadOptions* options) {
  if (!options->bucket_batches.has_value()) return plan;
  if (plan.facts().is_packed) {
    return Status::Invalid(
        "bucket_batches: packed rows are all of one length; leave it out, or do not pack");
  }
  loader::StepOptions& steps = options->loader.steps;
  if (steps.steps.has_value()) {
    ARROW_ASSIGN_OR_RAISE(plan, order::RepeatPlan(plan, std::nullopt));
  } else if (steps.passes > 1) {
    ARROW_ASSIGN_OR_RAISE(plan, order::RepeatPlan(plan, steps.passes));
    steps.passes = 1;
  }
  order::WindowShuffleOptions buckets;
  buckets.rows = *options->bucket_batches * steps.batch_size;
  buckets.bucket_rows = steps.batch_size;
  buckets.seed = options->seed;
  buckets.in_steps = true;
  return order::WindowShufflePlan(plan, buckets, "loader.buckets");
}

}  // namespace

config::FieldList LoadOptions::Fields() {
  using O = LoadOptions;
  return config::Joined(
      {config::FieldsOf(&O::loader),
       {
           config::Field{
               "epochs", &O::epochs,
               "Passes over the data that follow each other without an end between them; unset: "
               "one for each iter() of the loader."}
               .AtLeast(1),
           config::Field{"shuffle_buffer_size", &O::shuffle_buffer_size,
                         "Rows of a shuffle window; unset: no shuffling."}
               .AtLeast(1)
               .ActsAt({"loader.shuffle"}),
           config::Field{
               "bucket_batches", &O::bucket_batches,
               "Batches whose rows are put in order of length together (of input_ids where there "
               "is a list, else bytes), so that little of each is padding; they come in random "
               "order. Such a window ends at 256 MB, too. Unset: rows stay as they come."}
               .AtLeast(2, ", as the rows of one batch come together anyway")
               .ActsAt({"loader.buckets"}),
           config::Field{"seed", &O::seed,
                         "Seed of shuffle_buffer_size and bucket_batches; unset: 0. Every epoch "
                         "has an order of its own."}
               .OrNone()
               .ActsAt({"loader.shuffle", "loader.buckets"}),
           config::Field{"prefetch_workers", &O::prefetch_workers,
                         "Threads that make batches ahead at most."}
               .AtLeast(1)
               .ForCompatibility("an upper bound: one thread is enough"),
           config::Field{"prefetch_to_device", &O::prefetch_to_device,
                         "Put the next batch on the JAX devices while one is in use, if it is "
                         "ready by then. It needs a mesh or a sharding_map."},
       }});
}

void LoadOptions::Check(const std::string& path, config::Problems* problems) const {
  const auto refuse = [&](const char* name, const char* text) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, name), text});
  };
  loader.Check(path, problems);
  if (epochs.has_value() && loader.steps.steps.has_value()) {
    refuse("epochs",
           "has no meaning beside steps: passes follow each other up to the last step; give one of "
           "the two");
  }
  if (prefetch_to_device && !loader.prefetch) {
    refuse("prefetch_to_device", "needs batches that are made ahead; leave prefetch_enabled=True");
  }
  if (bucket_batches.value_or(1) > std::numeric_limits<int64_t>::max() / loader.steps.batch_size) {
    refuse("bucket_batches", "makes more rows than can be counted");
  }
}

namespace {

/// Takes the pad token from the vocabulary; one that is named must be an id of it.
Status PadTokens(const StreamPlan& plan, loader::PadOptions* padding) {
  ARROW_ASSIGN_OR_RAISE(const Vocabularies vocabularies, plan.facts().Tokens());
  padding->known_pad_id = vocabularies.pad_id();
  const auto check = [&](const char* option, const char* column, int64_t id) {
    const std::string problem = vocabularies.ProblemOf(id);
    return problem.empty() ? Status::OK() : config::OptionError(option, column + problem);
  };
  if (padding->pad_token_id.has_value()) {
    ARROW_RETURN_NOT_OK(check("pad_token_id", "", *padding->pad_token_id));
  }
  const auto named = padding->columns.find("input_ids");
  if (named == padding->columns.end() || !named->second.value.has_value()) return Status::OK();
  return check("padding", "input_ids: ", static_cast<int64_t>(*named->second.value));
}

}  // namespace

Result<std::unique_ptr<loader::Loader>> MakeLoader(StreamPlan plan, LoadOptions options) {
  if (options.epochs.has_value()) options.loader.steps.passes = *options.epochs;
  ARROW_RETURN_NOT_OK(config::CheckOptions(options));
  ARROW_RETURN_NOT_OK(loader::Loader::Check(plan, options.loader));
  ARROW_RETURN_NOT_OK(CheckBalance(plan, options));
  ARROW_RETURN_NOT_OK(PadTokens(plan, &options.loader.steps.padding));
  ARROW_ASSIGN_OR_RAISE(plan, WithRowsShuffled(plan, options));
  ARROW_ASSIGN_OR_RAISE(plan, Bucketed(std::move(plan), &options));
  return loader::Loader::Make(std::move(plan), std::move(options.loader));
}

}  // namespace easydata::plan
