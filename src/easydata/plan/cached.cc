#include "easydata/plan/cached.h"

#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/hash.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/json/json_column.h"
#include "easydata/stream/map_stage.h"
#include "easydata/transform/conform_columns.h"

namespace easydata::plan {
namespace {

// Of a source's options: which files it reads, how it found them, and in which order, which are no
// part of what becomes of a block.
constexpr std::array<std::string_view, 12> kNotOfBlocks = {
    "files",     "names",  "bytes",     "mtimes",  "tags",         "hashes",
    "revisions", "shards", "start_row", "shuffle", "shuffle_seed", "on_missing"};
// Operators that choose and order rows, and change none.
constexpr std::string_view kWindow = "source.shuffle_window";
constexpr std::array<std::string_view, 3> kOrders = {kWindow, "limit", "concat"};

template <size_t N>
bool Has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What the blocks of a plan's files are made into.
Result<KeptPlan> PlanOfBlocks(const StreamPlan& plan) {
  nlohmann::json operators = nlohmann::json::array();
  for (const KeyedNode& keyed : KeyedNodes(*plan.node)) {
    const PlanNode& node = *keyed.node;
    if (Has(kOrders, node.name)) continue;
    nlohmann::json options = *node.options;
    if (node.name == "source" || node.name == "grain_rows") {
      for (const std::string_view name : kNotOfBlocks) options.erase(std::string(name));
    }
    nlohmann::json said = {{"operator", keyed.stream + node.name}, {"options", std::move(options)}};
    if (!node.identity.empty()) said["identity"] = node.identity;
    operators.push_back(std::move(said));
  }
  ARROW_ASSIGN_OR_RAISE(const auto schema, plan.schema());
  const nlohmann::json described = {{"operators", std::move(operators)},
                                    {"columns", schema->ToString(/*show_metadata=*/true)}};
  KeptPlan kept;
  kept.described = described.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  kept.hash = Hash128(kept.described);
  return kept;
}

/// Where the rows of a plan are no rows of blocks: where the cache belongs.
std::string WhereItBelongs(const PlanNode& root) {
  std::string out;
  VisitNodes(root, [&](const PlanNode& node) {
    if (node.name == "mix")
      out = "its rows are mixed: put the cache before the mix, on each source";
    if (node.name == "pack") out = "its rows are packed: put the cache before packing";
  });
  return out;
}

/// All columns of what is asked, so that what is kept serves any request.
Request InAllColumns(Request request) {
  request.columns.reset();
  return request;
}

/// Whether the order of the rows depends on how many bytes of them are read, and so on the columns.
bool MeasuresRows(const PlanNode& root) {
  bool out = false;
  VisitNodes(root, [&](const PlanNode& node) { out |= node.name == kWindow; });
  return out;
}

/// Whether rows have columns that are known: whole objects of JSON have none, nor have files whose
/// columns do not go together.
bool HaveColumns(const StreamPlan& plan) {
  const auto schema = plan.schema();
  return schema.ok() && json::RowColumnIndex(**schema) < 0;
}

/// Whether a state was saved inside a batch of an operator, as stages that keep nothing do.
bool IsInsideBatch(const nlohmann::json& cursor) {
  if (!cursor.is_object()) return false;
  if (cursor.contains("in_batch") || cursor.contains("before_error")) return true;
  return std::any_of(cursor.begin(), cursor.end(), IsInsideBatch);
}

/// Reads rows that are kept; from a position that only the stage that keeps nothing knows, that
/// one's.
class KeptStage : public Stage {
 public:
  KeptStage(std::unique_ptr<Stage> stage, StageFactory unkept, const StageContext& context)
      : stage_(std::move(stage)), unkept_(std::move(unkept)), context_(context) {}

  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    ARROW_ASSIGN_OR_RAISE(const bool fused, stage_->Fuse(op));
    if (fused) ops_.push_back(std::move(op));
    return fused;
  }

  Status Restore(const nlohmann::json& cursor) override {
    if (IsInsideBatch(cursor)) {
      ARROW_ASSIGN_OR_RAISE(stage_, unkept_(context_));
      for (const auto& op : ops_) {
        ARROW_ASSIGN_OR_RAISE(stage_, MakeMapStage(std::move(stage_), op, context_));
      }
      if (skips_gathering_) stage_->SkipGathering();
    }
    return stage_->Restore(cursor);
  }

  bool SkipGathering() override { return skips_gathering_ = stage_->SkipGathering(); }
  Result<std::optional<Batch>> Next() override { return stage_->Next(); }
  Cursor Save() const override { return stage_->Save(); }
  Result<std::optional<int64_t>> NumRows() override { return stage_->NumRows(); }
  Result<bool> Seek(int64_t row) override { return stage_->Seek(row); }
  void Cancel() override { stage_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return stage_->schema(); }
  StageStats stats() const override { return stage_->stats(); }

 private:
  std::unique_ptr<Stage> stage_;
  const StageFactory unkept_;
  const StageContext context_;
  std::vector<std::shared_ptr<const BatchOp>> ops_;
  bool skips_gathering_ = false;
};

class CachedPlan : public LogicalPlan {
 public:
  CachedPlan(LogicalPlanPtr input, std::shared_ptr<BlockStore> store)
      : input_(std::move(input)), store_(std::move(store)) {}

  Result<StreamPlan> Make(const Request& request) const override {
    return Kept(request, [this](const Request& asked) { return input_->Make(asked); });
  }

  Result<StreamPlan> MakeShuffled(const Request& request,
                                  const source::SourceShuffleOptions& order) const override {
    return Kept(request, [&](const Request& asked) { return input_->MakeShuffled(asked, order); });
  }

  bool CanSeek() const override { return input_->CanSeek(); }

  bool IsAtHand() const override { return input_->IsAtHand(); }

  Result<std::optional<std::vector<ShardRows>>> StatedRows() const override {
    return input_->StatedRows();
  }

  Result<std::optional<std::vector<std::string>>> FirstRowNames() const override {
    return input_->FirstRowNames();
  }

  Result<std::optional<source::FirstRows>> Peek(int64_t num_rows) const override {
    return input_->Peek(num_rows);
  }

  Result<std::vector<std::string>> FieldNames() const override { return input_->FieldNames(); }

 protected:
  Result<std::vector<std::vector<std::string>>> LookAtForms() const override {
    return input_->FirstForms();
  }

 private:
  template <typename MakeInput>
  Result<StreamPlan> Kept(const Request& request, MakeInput make_input) const {
    ARROW_ASSIGN_OR_RAISE(StreamPlan asked, make_input(request));
    if (request.is_look || !HasIdentity(*asked.node)) return asked;
    StreamPlan all = asked;
    std::shared_ptr<const BatchOp> conform;
    if (request.columns.has_value() && !MeasuresRows(*asked.node)) {
      auto made = make_input(InAllColumns(request));
      if (made.ok() && HaveColumns(*made)) {
        all = std::move(*made);
        conform = transform::ConformColumns(*request.columns);
      }
    }
    ARROW_ASSIGN_OR_RAISE(const KeptPlan kept, PlanOfBlocks(all));
    store_->NotePlan(kept.hash, kept.described);
    BlockKeeping keeping;
    keeping.store = store_;
    keeping.plan = kept.hash;
    StreamPlan out = asked;
    out.make = [unkept = asked.make, all = std::move(all.make), conform = std::move(conform),
                keeping](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
      ARROW_ASSIGN_OR_RAISE(auto stage, all(context));
      ARROW_ASSIGN_OR_RAISE(const std::string problem, stage->KeepBlocks({}, keeping));
      if (!problem.empty()) return unkept(context);
      if (conform != nullptr) {
        ARROW_ASSIGN_OR_RAISE(stage, MakeMapStage(std::move(stage), conform, context));
      }
      return std::make_unique<KeptStage>(std::move(stage), unkept, context);
    };
    return out;
  }

  const LogicalPlanPtr input_;
  const std::shared_ptr<BlockStore> store_;
};

Request RequestFor(Documents documents) {
  Request request;
  request.whole_documents = documents == Documents::kWhole;
  return request;
}

/// Tries how a plan's stages would keep their rows: "", or why they cannot.
Result<std::string> TryKeeping(const StreamPlan& plan, const BlockKeeping& keeping) {
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);  // whose thread never starts
  ARROW_ASSIGN_OR_RAISE(auto stage, plan.make(context));
  return stage->KeepBlocks({}, keeping);
}

}  // namespace

LogicalPlanPtr Cached(LogicalPlanPtr input, std::shared_ptr<BlockStore> store) {
  return std::make_shared<CachedPlan>(std::move(input), std::move(store));
}

Result<std::string> WhyNothingIsKept(const LogicalPlan& input) {
  ARROW_ASSIGN_OR_RAISE(const StreamPlan plan, input.Make({}));
  if (std::string place = WhereItBelongs(*plan.node); !place.empty()) return place;
  ARROW_ASSIGN_OR_RAISE(std::string problem, TryKeeping(plan, {}));
  if (!problem.empty() || HasIdentity(*plan.node)) return problem;
  std::string why;
  VisitNodes(*plan.node, [&](const PlanNode& node) {
    if (!node.has_identity && why.empty()) why = node.identity;
  });
  if (!why.empty()) return why;
  return std::string(
      "one of its functions cannot be recognised in another process, as lambdas and functions "
      "inside of others cannot: name a function of a module, and give it a version=");
}

nlohmann::ordered_json FoundRows::ToJson() const {
  auto files = nlohmann::ordered_json::array();
  for (const KeptRows::Missing& file : rows.missing) {
    files.push_back(
        {{"name", file.file}, {"blocks", file.blocks}, {"kept_blocks", file.kept_blocks}});
  }
  return {{"plan", ToHex(plan.hash[0]) + ToHex(plan.hash[1])},
          {"described", plan.described},
          {"blocks", rows.blocks},
          {"kept_blocks", rows.kept_blocks},
          {"bytes", rows.bytes},
          {"kept_bytes", rows.kept_bytes},
          {"files", std::move(files)}};
}

Result<FoundRows> LookForKept(const LogicalPlan& input, Documents documents,
                              std::shared_ptr<BlockStore> store) {
  ARROW_ASSIGN_OR_RAISE(const StreamPlan plan, input.Make(RequestFor(documents)));
  FoundRows found;
  ARROW_ASSIGN_OR_RAISE(found.plan, PlanOfBlocks(plan));
  BlockKeeping keeping;
  keeping.store = std::move(store);
  keeping.plan = found.plan.hash;
  keeping.counted = &found.rows;
  ARROW_ASSIGN_OR_RAISE(const std::string problem, TryKeeping(plan, keeping));
  if (!problem.empty()) return Status::NotImplemented("nothing is kept: ", problem);
  return found;
}

}  // namespace easydata::plan
