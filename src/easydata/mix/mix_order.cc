#include "easydata/mix/mix_order.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "easydata/config/descriptor.h"
#include "easydata/stream/stage.h"

namespace easydata::mix {
namespace {

// Blocks of a far Seek() between two checks of whether it was cancelled.
constexpr int64_t kBlocksAtOnce = 100'000;

constexpr NamedValue<StopStrategy> kStopStrategies[] = {
    {"restart", StopStrategy::kRestart},
    {"first_exhausted", StopStrategy::kFirstExhausted},
    {"all_exhausted", StopStrategy::kAllExhausted},
};
constexpr NamedValue<MixUnit> kMixUnits[] = {
    {"examples", MixUnit::kExamples},
    {"tokens", MixUnit::kTokens},
};
constexpr NamedValue<ScheduleUnit> kScheduleUnits[] = {
    {"steps", ScheduleUnit::kSteps},
    {"examples", ScheduleUnit::kExamples},
};
constexpr NamedValue<MixOrderKind> kMixOrders[] = {
    {"blocks", MixOrderKind::kBlocks},
    {"grain", MixOrderKind::kGrain},
};

/// The value that a description gives by its name.
template <typename E>
Result<E> NamedIn(const nlohmann::json& keys, const char* key, E preset) {
  const std::string name = keys.value(key, NameOf(NamesOf(preset), preset));
  return ParseName(NamesOf(preset), key, name);
}

std::vector<double> WeightsOf(const MixOptions& options) {
  return options.weights.empty() ? std::vector<double>(options.names.size(), 1.0) : options.weights;
}

/// Refuses options without a meaning in Grain's order, or that Grain has no order for.
Status CheckGrain(const MixOptions& options) {
  if (options.unit == MixUnit::kTokens) {
    return Status::Invalid(
        "order=\"grain\" goes by the number of the row, and unit=\"tokens\" by the lengths of "
        "documents: give a mix one of them");
  }
  if (options.schedule.has_value()) {
    return Status::Invalid(
        "order=\"grain\" has the same weights for ever: with a weight schedule use "
        "order=\"blocks\"");
  }
  for (size_t i = 0; i < options.weights.size(); ++i) {
    if (options.weights[i] > 0) continue;
    return Status::Invalid(
        "order=\"grain\" takes weights above 0 only, as Grain does: leave the source out, or use "
        "order=\"blocks\"; the weight of sources[\"",
        options.names[i], "\"] is ", options.weights[i]);
  }
  return GrainMix::Make(WeightsOf(options)).status();
}

Status DamagedMix() {
  return Status::Invalid("the saved state is damaged: its mix cannot be read");
}

Result<int64_t> WholeNumber(const nlohmann::json& value) {
  if (!IsWholeNumber(value)) return DamagedMix();
  return value.get<int64_t>();
}

}  // namespace

config::FieldList MixOptions::Fields() {
  using O = MixOptions;
  const config::Json blocks = NameOf(kMixOrders, MixOrderKind::kBlocks);
  return config::Joined(
      {{
           config::Field{"block_size", &O::block_size,
                         "Examples of a block; at a block's end each source is within one example "
                         "of its share. "
                         "Without effect where order is \"grain\"."}
               .AtLeast(1)
               .Beside("order", {blocks}),
           config::Field{"seed", &O::seed,
                         "Seed of the order within blocks; unset: 0. Without effect where order is "
                         "\"grain\"."}
               .OrNone()
               .Beside("order", {blocks}),
           config::Field{"stop_strategy", &O::stop,
                         "When a source ends: start it again for ever (restart), end the mixture "
                         "as soon as an "
                         "example is wanted of one that has no more (first_exhausted), or start it "
                         "again until "
                         "each has been given out whole (all_exhausted)."},
           config::Field{
               "unit", &O::unit,
               "What weights are shares of: examples, or tokens, of which each source then has its "
               "share to within one document at every prefix of the stream; tokenize it before."},
           config::Field{
               "schedule_unit", &O::schedule_unit,
               "What the steps of weights that change count: examples that were given out, "
               "or the steps of the loader that reads the mix."},
           config::Field{
               "order", &O::order,
               "blocks: each block has each source's share, in an order of the seed; grain: "
               "exactly "
               "the order of Grain's mix, whose weights are fixed, above 0 and of examples; "
               "first_exhausted ends where its IterDataset.mix does, restart is its MapDataset.mix "
               "of repeated datasets. It cannot be edited at a checkpoint."},
       },
       config::FieldsOf(&O::vocabularies)});
}

std::span<const NamedValue<StopStrategy>> NamesOf(StopStrategy) { return kStopStrategies; }
std::span<const NamedValue<MixUnit>> NamesOf(MixUnit) { return kMixUnits; }
std::span<const NamedValue<ScheduleUnit>> NamesOf(ScheduleUnit) { return kScheduleUnits; }
std::span<const NamedValue<MixOrderKind>> NamesOf(MixOrderKind) { return kMixOrders; }

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
  ARROW_RETURN_NOT_OK(config::CheckOptions(*this));
  ARROW_RETURN_NOT_OK(BlockMixer::Make(1, block_size, 0).status());
  return order == MixOrderKind::kGrain ? CheckGrain(*this) : Status::OK();
}

Status MixSettings::Validate() const {
  for (const auto& size : clock.batch_sizes) {
    if (size.rows < 1)
      return Status::Invalid("the batch size of the mix's clock must be 1 or more");
  }
  if (!clock.batch_sizes.empty() && clock.batch_sizes[0].step != 0) {
    return Status::Invalid("the mix's clock needs a batch size from step 0 on");
  }
  return MixOptions::Validate();
}

nlohmann::json MixSettings::Description() const {
  nlohmann::json keys = {{"sources", names},
                         {"unit", NameOf(kMixUnits, unit)},
                         {"order", NameOf(kMixOrders, order)},
                         {"block_size", block_size},
                         {"seed", seed},
                         {"stop_strategy", NameOf(kStopStrategies, stop)},
                         {"add_source", add_source}};
  if (unit == MixUnit::kTokens || by_steps()) keys["token_column"] = token_column;
  if (!schedule.has_value()) {
    keys["weights"] = weights.empty() ? std::vector<double>(names.size(), 1.0) : weights;
    return keys;
  }
  nlohmann::json points = nlohmann::json::array();
  for (const WeightPoint& point : schedule->points()) {
    points.push_back({{"step", point.step}, {"weights", point.weights}});
  }
  keys["weight_schedule"] = std::move(points);
  keys["weight_schedule_type"] = NameOf(NamesOf(Interpolation{}), schedule->interpolation());
  if (by_steps()) keys["schedule_unit"] = NameOf(kScheduleUnits, schedule_unit);
  return keys;
}

Result<MixSettings> MixSettings::FromDescription(const nlohmann::json& keys) {
  const auto read = [&]() -> Result<MixSettings> {
    MixSettings options;
    options.names = keys.at("sources").get<std::vector<std::string>>();
    ARROW_ASSIGN_OR_RAISE(options.unit, NamedIn(keys, "unit", options.unit));
    ARROW_ASSIGN_OR_RAISE(options.order, NamedIn(keys, "order", options.order));
    ARROW_ASSIGN_OR_RAISE(options.block_size, WholeNumber(keys.at("block_size")));
    if (!keys.at("seed").is_number_integer()) return DamagedMix();
    options.seed = keys.at("seed").get<uint64_t>();
    ARROW_ASSIGN_OR_RAISE(options.stop, NamedIn(keys, "stop_strategy", options.stop));
    options.add_source = keys.at("add_source").get<bool>();
    options.token_column = keys.value("token_column", options.token_column);
    if (keys.contains("weights")) {
      options.weights = keys.at("weights").get<std::vector<double>>();
    } else {
      std::vector<WeightPoint> points;
      for (const nlohmann::json& point : keys.at("weight_schedule")) {
        ARROW_ASSIGN_OR_RAISE(const int64_t step, WholeNumber(point.at("step")));
        points.push_back({step, point.at("weights").get<std::vector<double>>()});
      }
      ARROW_ASSIGN_OR_RAISE(const auto interpolation,
                            NamedIn(keys, "weight_schedule_type", Interpolation::kStep));
      ARROW_ASSIGN_OR_RAISE(options.schedule,
                            WeightSchedule::Make(options.names, std::move(points), interpolation));
      ARROW_ASSIGN_OR_RAISE(options.schedule_unit,
                            NamedIn(keys, "schedule_unit", options.schedule_unit));
    }
    ARROW_RETURN_NOT_OK(options.Validate());
    return options;
  };
  try {
    return read();
  } catch (const nlohmann::json::exception&) {
    return DamagedMix();
  }
}

MixOrder::MixOrder(MixSettings options, BlockMixer mixer, std::optional<GrainMix> grain)
    : options_(std::move(options)),
      weights_(Normalized(WeightsOf(options_))),
      mixer_(std::move(mixer)),
      shares_(static_cast<int>(options_.names.size())),
      grain_(std::move(grain)) {
  if (!options_.schedule.has_value()) mixer_.FixWeights(weights_);
  given_.assign(options_.names.size(), 0);
}

Result<MixOrder> MixOrder::Make(const MixSettings& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  ARROW_ASSIGN_OR_RAISE(auto mixer, BlockMixer::Make(static_cast<int>(options.names.size()),
                                                     options.block_size, options.seed));
  std::optional<GrainMix> grain;
  if (options.order == MixOrderKind::kGrain) {
    ARROW_ASSIGN_OR_RAISE(grain, GrainMix::Make(WeightsOf(options)));
  }
  return MixOrder(options, std::move(mixer), std::move(grain));
}

void MixOrder::Begin(int64_t block, int64_t example) {
  first_block_ = block;
  first_example_ = examples_at_start_ = example;
  mixer_.Begin(block);
}

int64_t MixOrder::StepAt(int64_t blocks_ahead) const {
  return options_.clock.Step(examples_at_start_ + blocks_ahead * options_.block_size,
                             tokens_at_start_);
}

std::vector<double> MixOrder::Weights() const {
  return options_.schedule.has_value() ? options_.schedule->At(StepAt(0)) : weights_;
}

BlockMixer::WeightsAhead MixOrder::Ahead() const {
  // When the next blocks start, in tokens, only their examples will tell.
  if (!options_.schedule.has_value() || options_.clock.row_tokens > 0) return nullptr;
  return [this](int64_t ahead) -> std::optional<std::vector<double>> {
    if (StepAt(ahead - 1) >= options_.schedule->points().back().step) return std::nullopt;
    return options_.schedule->At(StepAt(ahead));
  };
}

void MixOrder::OrderAsGrain() {
  grain_order_.clear();
  grain_order_.reserve(options_.block_size);
  const auto first = static_cast<uint64_t>(examples_at_start_);
  for (int64_t k = 0; k < options_.block_size; ++k) {
    grain_order_.push_back(static_cast<int32_t>(grain_->At(first + k).source));
  }
}

void MixOrder::StartBlock(int64_t tokens) {
  tokens_at_start_ = tokens;
  if (grain_) {
    OrderAsGrain();
  } else if (options_.unit == MixUnit::kTokens) {
    shares_.SetWeights(Weights());
  } else {
    mixer_.StartBlock(Weights(), Ahead());
  }
}

void MixOrder::EndBlock() {
  given_.clear();
  examples_at_start_ += options_.block_size;
  if (grain_ || options_.unit == MixUnit::kTokens) {
    if (options_.schedule.has_value()) shares_.Settle();
    mixer_.Begin(mixer_.block() + 1);
  } else {
    mixer_.EndBlock();
  }
}

Result<std::vector<int64_t>> MixOrder::Seek(int64_t n, const std::atomic<bool>& cancelled) {
  if (options_.counts_tokens()) {
    return Status::Invalid(
        "where an example of this mix comes from depends on the tokens of those before it: read "
        "from the start, or from a saved position");
  }
  if (n < first_example_) return Status::Invalid("the mix begins at example ", first_example_);
  const int64_t target = first_block_ + (n - first_example_) / options_.block_size;
  if (grain_) {
    mixer_.Begin(target);
    examples_at_start_ = first_example_ + (target - first_block_) * options_.block_size;
    OrderAsGrain();
    return grain_->Given(n);
  }
  const bool scheduled = options_.schedule.has_value();
  if (given_.empty() || target < mixer_.block()) {
    given_.assign(options_.names.size(), 0);
    examples_at_start_ = first_example_;
    mixer_.Begin(first_block_);
  }
  while (mixer_.block() < target) {
    if (cancelled) return Status::Cancelled("looking for an example of the mix was given up");
    if (!scheduled || StepAt(0) >= options_.schedule->points().back().step) {
      const int64_t from = mixer_.block();
      const int64_t to = target - from > kBlocksAtOnce ? from + kBlocksAtOnce : target;
      mixer_.SkipTo(to, Weights(), &given_);
      examples_at_start_ += (to - from) * options_.block_size;
      continue;
    }
    mixer_.CountBlock(Weights(), Ahead());
    for (size_t i = 0; i < given_.size(); ++i) given_[i] += mixer_.counts()[i];
    mixer_.EndBlock();
    examples_at_start_ += options_.block_size;
  }
  mixer_.StartBlock(Weights(), Ahead());
  std::vector<int64_t> given = given_;
  for (int64_t k = 0; k < n - examples_at_start_; ++k) ++given[mixer_.order()[k]];
  return given;
}

void MixOrder::Save(nlohmann::json* cursor) const {
  *cursor = {{"block", mixer_.block()}, {"examples", examples_at_start_}};
  if (options_.clock.row_tokens > 0) (*cursor)["tokens_at_start"] = tokens_at_start_;
  if (grain_) return;  // the rest follows from it
  if (options_.unit == MixUnit::kExamples) {
    (*cursor)["carry"] = mixer_.carry();
    return;
  }
  nlohmann::json& given = (*cursor)["given"] = nlohmann::json::array();
  nlohmann::json& owed = (*cursor)["owed"] = nlohmann::json::array();
  for (size_t i = 0; i < options_.names.size(); ++i) {
    given.push_back(shares_.given(static_cast<int>(i)));
    owed.push_back(shares_.owed(static_cast<int>(i)));
  }
  if (!options_.schedule.has_value()) cursor->erase("owed");  // weights that never change owe none
}

Status MixOrder::Restore(const nlohmann::json& cursor, bool started) {
  given_.clear();
  examples_at_start_ = cursor.at("examples").get<int64_t>();
  tokens_at_start_ = cursor.value("tokens_at_start", int64_t{0});
  const int64_t block = cursor.at("block").get<int64_t>();
  if (grain_) {
    if (block < 0 || examples_at_start_ % options_.block_size != 0 ||
        examples_at_start_ / options_.block_size != block) {
      return Status::Invalid("the saved position of the mix is damaged: its block does not begin ",
                             "at its example");
    }
    mixer_.Begin(block);
    if (started) OrderAsGrain();
    return Status::OK();
  }
  if (options_.unit == MixUnit::kExamples) {
    ARROW_RETURN_NOT_OK(mixer_.Restore(block, cursor.at("carry").get<std::vector<int64_t>>()));
    if (started) mixer_.StartBlock(Weights(), Ahead());
    return Status::OK();
  }
  mixer_.Begin(block);
  auto given = cursor.at("given").get<std::vector<int64_t>>();
  std::vector<std::pair<int64_t, int64_t>> owed(given.size());
  if (cursor.contains("owed")) cursor.at("owed").get_to(owed);
  shares_.SetWeights(Weights());
  return shares_.Restore(std::move(given), owed);
}

bool MixOrder::Wanted(int source) const {
  if (!options_.schedule.has_value()) return weights_[source] > 0;
  for (const WeightPoint& point : options_.schedule->points()) {
    if (point.weights[source] > 0) return true;
  }
  return false;
}

}  // namespace easydata::mix
