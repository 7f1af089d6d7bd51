#include "easydata/mix/mix_order.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace easydata {
namespace {

const char* InterpolationName(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kLinear:
      return "linear";
    case Interpolation::kCosine:
      return "cosine";
    default:
      return "step";
  }
}

}  // namespace

Result<StopStrategy> ParseStopStrategy(const std::string& name) {
  if (name == "restart") return StopStrategy::kRestart;
  if (name == "first_exhausted") return StopStrategy::kFirstExhausted;
  if (name == "all_exhausted") return StopStrategy::kAllExhausted;
  return Status::Invalid(
      "unknown stop strategy; use \"restart\", \"first_exhausted\" or \"all_exhausted\": \"", name,
      "\"");
}

const char* StopStrategyName(StopStrategy stop) {
  switch (stop) {
    case StopStrategy::kFirstExhausted:
      return "first_exhausted";
    case StopStrategy::kAllExhausted:
      return "all_exhausted";
    default:
      return "restart";
  }
}

Status MixOptions::Validate() const {
  if (names.empty()) return Status::Invalid("a mix needs at least one source");
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    return Status::Invalid("two sources of the mix have one name");
  }
  if (schedule.has_value()) {
    if (schedule->names() != names) {
      return Status::Invalid("the weight schedule names other sources than the mix");
    }
  } else if (!weights.empty()) {
    if (weights.size() != names.size()) {
      return Status::Invalid("the mix has ", names.size(), " sources, but ", weights.size(),
                             " weights");
    }
    ARROW_RETURN_NOT_OK(CheckWeights(names, weights, "mix weights"));
  }
  for (const auto& ramp : clock.batch_sizes) {
    if (ramp.batch_size < 1)
      return Status::Invalid("the batch size of the mix's clock must be 1 or more");
  }
  if (!clock.batch_sizes.empty() && clock.batch_sizes[0].step != 0) {
    return Status::Invalid("the mix's clock needs a batch size from step 0 on");
  }
  return BlockMixer::Make(1, block_size, 0).status();
}

nlohmann::json MixOptions::Description() const {
  nlohmann::json keys = {{"mix.sources", names},
                         {"mix.block_size", block_size},
                         {"mix.seed", seed},
                         {"mix.stop_strategy", StopStrategyName(stop)},
                         {"mix.add_source", add_source}};
  if (!schedule.has_value()) {
    nlohmann::json values = nlohmann::json::object();
    for (size_t i = 0; i < names.size(); ++i) values[names[i]] = weights.empty() ? 1.0 : weights[i];
    keys["mix.weights"] = std::move(values);
    return keys;
  }
  nlohmann::json points = nlohmann::json::array();
  for (const WeightPoint& point : schedule->points()) {
    points.push_back({{"step", point.step}, {"weights", point.weights}});
  }
  keys["mix.weight_schedule"] = std::move(points);
  keys["mix.weight_schedule_type"] = InterpolationName(schedule->interpolation());
  nlohmann::json ramp = nlohmann::json::array();
  for (const auto& size : clock.batch_sizes) ramp.push_back({size.step, size.batch_size});
  keys["mix.clock"] = {{"batch_sizes", std::move(ramp)}, {"row_tokens", clock.row_tokens}};
  return keys;
}

MixOrder::MixOrder(MixOptions options, BlockMixer mixer)
    : options_(std::move(options)), mixer_(std::move(mixer)) {
  weights_ =
      options_.weights.empty() ? std::vector<double>(options_.names.size(), 1.0) : options_.weights;
  weights_ = Normalized(std::move(weights_));
}

Result<MixOrder> MixOrder::Make(const MixOptions& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  ARROW_ASSIGN_OR_RAISE(auto mixer, BlockMixer::Make(static_cast<int>(options.names.size()),
                                                     options.block_size, options.seed));
  return MixOrder(options, std::move(mixer));
}

void MixOrder::StartBlock(int64_t tokens) {
  tokens_at_start_ = tokens;
  if (!options_.schedule.has_value()) {
    mixer_.StartBlock(weights_);
    return;
  }
  const WeightSchedule& schedule = *options_.schedule;
  const int64_t first = mixer_.block();
  auto step_of = [&](int64_t block) {
    return options_.clock.Step(block * options_.block_size, tokens);
  };
  const std::vector<double> weights = schedule.At(step_of(first));
  if (options_.clock.row_tokens > 0) {
    // When the next blocks start, in tokens, only their examples will tell.
    mixer_.StartBlock(weights);
    return;
  }
  mixer_.StartBlock(weights, [&](int64_t ahead) -> std::optional<std::vector<double>> {
    const int64_t step = step_of(first + ahead);
    const int64_t last = schedule.points().back().step;
    if (step_of(first + ahead - 1) >= last) return std::nullopt;
    return schedule.At(step);
  });
}

void MixOrder::Save(nlohmann::json* cursor) const {
  *cursor = {{"block", mixer_.block()}, {"carry", mixer_.carry()}};
  if (options_.clock.row_tokens > 0) (*cursor)["tokens_at_start"] = tokens_at_start_;
}

Status MixOrder::Restore(const nlohmann::json& cursor) {
  tokens_at_start_ = cursor.value("tokens_at_start", int64_t{0});
  return mixer_.Restore(cursor.at("block").get<int64_t>(),
                        cursor.at("carry").get<std::vector<int64_t>>());
}

bool MixOrder::Wanted(int source) const {
  if (!options_.schedule.has_value()) return weights_[source] > 0;
  for (const WeightPoint& point : options_.schedule->points()) {
    if (point.weights[source] > 0) return true;
  }
  return false;
}

}  // namespace easydata
