#include "easydata/source/source_stage.h"

#include <arrow/type.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/base/nearest_name.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/source/file_rules.h"
#include "easydata/source/grain_order_stage.h"
#include "easydata/source/read_order.h"
#include "easydata/source/read_order_stage.h"
#include "easydata/source/shard_error.h"
#include "easydata/source/units.h"
#include "easydata/stream/lane_rows_stage.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::source {
namespace {

constexpr NamedValue<OnError> kOnErrors[] = {
    {"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"quarantine", OnError::kQuarantine}};

// As they are, the rows have no mode: none is named.
constexpr NamedValue<SourceShuffle> kSourceShuffles[] = {{"blocks", SourceShuffle::kBlocks},
                                                         {"rows", SourceShuffle::kRows},
                                                         {"grain", SourceShuffle::kGrain}};

const char* Name(OnError on_error) { return easydata::NameOf(NamesOf(on_error), on_error); }

const char* Name(SourceShuffle mode) { return easydata::NameOf(NamesOf(mode), mode); }

Result<std::vector<size_t>> Choose(const Source& source,
                                   const std::optional<std::vector<std::string>>& wanted) {
  const auto& names = source.shard_names();
  std::vector<size_t> out;
  if (!wanted.has_value()) {
    for (size_t i = 0; i < names.size(); ++i) out.push_back(i);
    return out;
  }
  for (const std::string& name : *wanted) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return Status::KeyError("there is no shard ", name, " among the ", names.size(),
                              " of this source", DidYouMean(name, names));
    }
    out.push_back(found - names.begin());
  }
  return out;
}

/// Of chosen shards that are all lost there are no rows; a source that is lost as a whole is an
/// error.
Result<std::shared_ptr<arrow::Schema>> SchemaOf(const Source& source,
                                                const SourceStageOptions& options,
                                                const std::vector<size_t>& shards) {
  if (shards.empty()) return source.Schema(options.columns, 0);
  ColumnTypes types;
  if (options.column_types.has_value()) {
    ARROW_ASSIGN_OR_RAISE(types, ColumnTypes::Make(options.column_types->values));
  }
  auto schema = source.ColumnsOfShards(options.columns, types, shards, options.is_look);
  if (IsOfLostShard(schema.status()) || schema.status().IsInvalid()) {
    const ShardRef first{options.name, source.shard_names()[shards.front()]};
    schema = ShardError(schema.status(), std::make_shared<const ShardRef>(first), std::nullopt);
  }
  if (options.errors.on_missing == OnError::kRaise || !IsOfLostShard(schema.status())) {
    return schema;
  }
  for (size_t i = 1; i < shards.size(); ++i) {
    const std::vector<size_t> rest(shards.begin() + static_cast<std::ptrdiff_t>(i), shards.end());
    auto other = source.ColumnsOfShards(options.columns, types, rest, options.is_look);
    if (!IsOfLostShard(other.status())) return other;
  }
  if (options.shards.has_value()) return arrow::schema(arrow::FieldVector{});
  return schema;
}

Result<std::optional<std::vector<int64_t>>> RowsOfShards(const Source& source,
                                                         const std::vector<size_t>& shards) {
  std::vector<int64_t> out;
  for (size_t shard : shards) {
    ARROW_ASSIGN_OR_RAISE(const auto rows, source.KnownRows(shard));
    if (!rows.has_value()) return std::nullopt;
    out.push_back(*rows);
  }
  return out;
}

/// The order in which one lane reads, and whether it reads all and keeps its own rows.
struct LaneOrder {
  std::unique_ptr<ReadOrder> order;
  bool by_row = false;
};

/// Partitions the shards among the lanes, or, where they are fewer, their blocks, or, where those
/// are few too, their rows.
Result<LaneOrder> OrderOfLane(const std::shared_ptr<const Source>& source,
                              const SourceStageOptions& options, const std::vector<size_t>& shards,
                              const StageContext& context) {
  // Fewer blocks a lane would make lanes of very different lengths.
  constexpr int64_t kLeastBlocks = 4;
  const OnError on_missing = options.errors.on_missing;
  const bool is_shuffled = options.shuffle.mode != SourceShuffle::kNone;
  std::optional<uint64_t> seed;
  if (is_shuffled) seed = options.shuffle.seed;
  if (context.unit != nullptr) {
    return LaneOrder{InUnitOrder(source, context.unit, on_missing,
                                 options.numbers_rows ? context.pool : nullptr)};
  }
  if (context.lanes > 1 && options.start_row != 0) {
    return Status::Invalid("lanes are of a source as a whole; start_row is ", options.start_row);
  }
  const auto num_shards = static_cast<int64_t>(shards.size());
  if (num_shards < context.lanes) {
    int64_t num_blocks = 0;
    for (size_t shard : shards) {
      ARROW_ASSIGN_OR_RAISE(const Blocks blocks, BlocksOfShard(*source, shard, on_missing));
      num_blocks += blocks.count;
    }
    if (num_blocks >= kLeastBlocks * context.lanes) {
      return LaneOrder{
          InBlockOrder(source, shards, seed, on_missing, context, options.numbers_rows)};
    }
    StageContext whole = context;
    whole.lane = 0;
    whole.lanes = 1;
    if (is_shuffled)
      return LaneOrder{InBlockOrder(source, shards, seed, on_missing, whole, options.numbers_rows),
                       true};
    return LaneOrder{InShardOrder(source, shards, options.name), true};
  }
  if (is_shuffled)
    return LaneOrder{InBlockOrder(source, shards, seed, on_missing, context, options.numbers_rows)};
  std::vector<size_t> mine;
  for (int64_t i = context.lane; i < num_shards; i += context.lanes) mine.push_back(shards[i]);
  return LaneOrder{InShardOrder(source, std::move(mine), options.name)};
}

}  // namespace

std::span<const NamedValue<OnError>> NamesOf(OnError) { return kOnErrors; }

std::string QuarantinePathProblem(OnError on_error, OnError on_missing, bool is_given) {
  const bool is_wanted = on_error == OnError::kQuarantine || on_missing == OnError::kQuarantine;
  if (is_wanted && !is_given) {
    return std::string("is required with ") +
           (on_error == OnError::kQuarantine ? "on_error" : "on_missing") +
           "=\"quarantine\": name a JSONL file";
  }
  if (!is_wanted && is_given) {
    return std::string("needs on_error=\"quarantine\" or on_missing=\"quarantine\", which are \"") +
           NameOf(NamesOf(on_error), on_error) + "\" and \"" +
           NameOf(NamesOf(on_missing), on_missing) + "\"";
  }
  return "";
}

Status CheckOnError(OnError on_error, OnError on_missing, bool has_quarantine_path) {
  const std::string problem = QuarantinePathProblem(on_error, on_missing, has_quarantine_path);
  return problem.empty() ? Status::OK() : Status::Invalid("quarantine_path: ", problem);
}

config::FieldList ErrorPolicy::Fields() {
  using O = ErrorPolicy;
  return {
      config::Field{
          "on_error", &O::on_error,
          "What happens to rows that do not parse, are not UTF-8, lack the field or have the "
          "wrong type: stop, "
          "leave out and count, or leave out and write to quarantine_path."}
          .ActsAt({"source", "tokenize", "examples"}),
      config::Field{
          "on_missing", &O::on_missing,
          "What happens to files that are not there, cannot be opened or read to their end, after "
          "all attempts, are damaged or of another kind, "
          "or that were exchanged: stop, leave out what is left of them and count it, or also "
          "list them in a file beside quarantine_path (bad.jsonl: bad.shards.jsonl)."},
      config::Field{
          "quarantine_path", &O::quarantine_path,
          "JSONL file that on_error=\"quarantine\" appends bad rows to, each once, whatever passes "
          "and runs come by it."}
          .ActsAt({"source", "tokenize", "examples"}),
  };
}

std::span<const NamedValue<SourceShuffle>> NamesOf(SourceShuffle) { return kSourceShuffles; }

config::FieldList SourceShuffleOptions::Fields() {
  using O = SourceShuffleOptions;
  return {
      config::Field{
          "mode", &O::mode,
          "Order of the rows: \"blocks\": blocks of rows in random order; \"rows\": rows "
          "across "
          "blocks as well; \"grain\": Grain's permutation. Another order in each epoch, from "
          "the seed."}
          .Required(),
      config::Field{"seed", &O::seed, "With the epoch, what determines the order."},
      config::Field{"window_bytes", &O::window_bytes,
                    "Content of a window of mode \"rows\", in bytes; unset: 64 MB."}
          .ActsAt({"source.shuffle_window"})
          .Beside("mode", {Name(SourceShuffle::kRows)}),
  };
}

config::FieldList SourceStageOptions::Fields() {
  using O = SourceStageOptions;
  return config::Joined(
      {{config::Field{"name", &O::name, "What errors, statistics and positions call the source."}
            .ActsAt({"source"}),
        config::Field{"column_types", &O::column_types,
                      "Types of columns of files that do not agree on them."}},
       config::FieldsOf(&O::errors),
       config::FieldsOf(&O::shuffle)});
}

Status SourceShuffleOptions::Validate() const {
  if (mode == SourceShuffle::kGrain && seed > std::numeric_limits<uint32_t>::max()) {
    return Status::Invalid("seed must be below 2^32, as Grain's order has no more bits; it is ",
                           seed);
  }
  if (!window_bytes.has_value()) return Status::OK();
  if (*window_bytes < 1) {
    return Status::Invalid("window_bytes must be at least 1; it is ", *window_bytes);
  }
  if (mode != SourceShuffle::kRows) {
    return Status::Invalid("window_bytes is for mode \"rows\"; the mode is \"",
                           mode == SourceShuffle::kNone ? "none" : Name(mode), "\"");
  }
  return Status::OK();
}

Result<StreamPlan> ShuffleRows(StreamPlan blocks, const SourceShuffleOptions& options) {
  order::WindowShuffleOptions window;
  window.rows = std::numeric_limits<int64_t>::max();
  window.bytes = options.window_bytes.value_or(SourceShuffleOptions::kDefaultWindowBytes);
  window.seed = options.seed;
  return order::WindowShufflePlan(std::move(blocks), window, "source.shuffle_window");
}

namespace {

/// What the first of these shards, of which some may be lost, says of its tokens. What is wrong
/// with a file is said by whoever reads its rows.
Result<Vocabularies> VocabulariesOf(const Source& source, const ErrorPolicy& errors,
                                    const std::vector<size_t>& shards) {
  for (const size_t shard : shards) {
    const auto text = source.VocabularyText(shard);
    if (text.ok()) return VocabulariesFromText(*text, source.shard_names()[shard]);
    if (text.status().IsCancelled() || text.status().IsOutOfMemory()) return text.status();
    if (errors.on_missing == OnError::kRaise) break;
  }
  return Vocabularies();
}

}  // namespace

Result<std::shared_ptr<arrow::Schema>> SourceSchema(const Source& source,
                                                    const SourceStageOptions& options) {
  ARROW_ASSIGN_OR_RAISE(const auto shards, Choose(source, options.shards));
  return SchemaOf(source, options, shards);
}

Result<StreamPlan> SourcePlan(std::shared_ptr<const Source> source, SourceStageOptions options) {
  if (options.start_row < 0) {
    return Status::IndexError("a row number cannot be negative: ", options.start_row);
  }
  ARROW_RETURN_NOT_OK(options.errors.Validate());
  ARROW_RETURN_NOT_OK(options.shuffle.Validate());
  ARROW_ASSIGN_OR_RAISE(auto shards, Choose(*source, options.shards));
  nlohmann::json described = source->Describe();
  if (options.shards.has_value()) described["shards"] = *options.shards;
  if (options.start_row != 0) described["start_row"] = options.start_row;
  described["on_error"] = Name(options.errors.on_error);
  if (options.errors.on_missing != OnError::kRaise)
    described["on_missing"] = Name(options.errors.on_missing);
  if (options.shuffle.mode != SourceShuffle::kNone) {
    if (options.start_row != 0) {
      return Status::Invalid("a shuffled source is read as a whole; start_row is ",
                             options.start_row);
    }
    described["shuffle"] = Name(options.shuffle.mode);
    described["shuffle_seed"] = options.shuffle.seed;
  }
  if (options.columns.has_value()) described["columns"] = DescribeColumns(*options.columns);
  auto node = MakeNode("source", described);
  node->rules = FileRules();
  node->facts.finitude = Finitude::kFinite;
  node->files = {source, &source->shard_names()};
  node->file_bytes = BytesOfShards(*source, shards);
  node->storage = source->storage();
  node->facts.vocabularies = AskedOnce<Vocabularies>([source, shards, errors = options.errors] {
    return VocabulariesOf(*source, errors, shards);
  });
  if (options.shuffle.mode != SourceShuffle::kNone) {
    node->facts.why_undivided = "rows in a random order";
  } else if (options.start_row != 0) {
    node->facts.why_undivided = "rows that begin within a file";
  } else {
    node->facts.divide = [source, shards, on_missing = options.errors.on_missing](int64_t bytes) {
      return DivideIntoUnits(*source, shards, bytes, on_missing);
    };
  }
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = [source, options, shards] { return SchemaOf(*source, options, shards); };
  if (options.shuffle.mode == SourceShuffle::kGrain) {
    if (!options.errors.raises()) {
      return Status::NotImplemented(
          "shuffle=\"grain\" needs every row in its place and cannot leave any out; use "
          "on_error=\"raise\" and on_missing=\"raise\", or shuffle \"rows\"");
    }
    plan.make =
        [source,
         grain = GrainOrderOptions{options.name, options.columns, shards, options.shuffle.seed},
         schema = plan.schema](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
      ARROW_ASSIGN_OR_RAISE(auto columns, schema());
      return Timed(MakeGrainOrderStage(source, grain, std::move(columns), context), "workers");
    };
    return plan;
  }
  plan.make = [source, options,
               shards](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto schema, SchemaOf(*source, options, shards));
    ARROW_ASSIGN_OR_RAISE(LaneOrder dealt, OrderOfLane(source, options, shards, context));
    SourceStageOptions of_lane = options;
    if (dealt.by_row && context.lane > 0) {
      // All lanes read all rows: the first one reports the bad ones.
      if (of_lane.errors.on_error == OnError::kQuarantine) of_lane.errors.on_error = OnError::kSkip;
      if (of_lane.errors.on_missing == OnError::kQuarantine)
        of_lane.errors.on_missing = OnError::kSkip;
      of_lane.report = nullptr;
    }
    std::unique_ptr<Stage> stage =
        MakeReadOrderStage(source, of_lane, std::move(dealt.order), std::move(schema), context);
    if (dealt.by_row) {
      stage = SelectLaneRows(std::move(stage), context,
                             [source, shards] { return RowsOfShards(*source, shards); });
    }
    return Timed(std::move(stage), "workers");
  };
  if (options.shuffle.mode != SourceShuffle::kRows) return plan;
  return ShuffleRows(std::move(plan), options.shuffle);
}

}  // namespace easydata::source
