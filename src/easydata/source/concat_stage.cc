#include "easydata/source/concat_stage.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/source/file_rules.h"
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/block_store.h"
#include "easydata/stream/failing_stage.h"
#include "easydata/stream/map_stage.h"

namespace easydata::source {
namespace {

class ConcatStage : public FailingStage {
 public:
  /// `ends`: the EOS of each part's documents; empty where all have the same.
  ConcatStage(std::shared_ptr<const std::vector<ConcatPart>> parts,
              std::vector<std::optional<int32_t>> ends, const StageContext& context)
      : parts_(std::move(parts)), ends_(std::move(ends)), context_(context) {}

  Status Init() {
    if (parts_->empty()) {
      schema_ = input_schema_ = arrow::schema(arrow::FieldVector{});
      return Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(stage_, (*parts_)[0].plan.make(context_));
    schema_ = input_schema_ = stage_->schema();
    return Status::OK();
  }

  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    ARROW_ASSIGN_OR_RAISE(schema_, op->OutputSchema(schema_));
    ops_.push_back(std::move(op));
    return true;
  }

  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    if (parts_->empty()) return std::string("it has no files");
    // Of the first part it is tried now, of all where they are counted.
    const size_t tried = keeping.counted != nullptr ? parts_->size() : 1;
    for (size_t part = 0; part < tried; ++part) {
      ARROW_ASSIGN_OR_RAISE(auto stage, (*parts_)[part].plan.make(context_));
      ARROW_RETURN_NOT_OK(ApplyTo(&stage, ops_));
      ARROW_ASSIGN_OR_RAISE(std::string problem, stage->KeepBlocks(ops, keeping.OfPart(part)));
      if (!problem.empty()) return problem;
    }
    keeping_ = keeping;
    ops_before_kept_ = std::exchange(ops_, {});
    kept_ops_ = ops;
    for (const auto& op : ops) {
      ARROW_ASSIGN_OR_RAISE(schema_, op->OutputSchema(schema_));
    }
    return std::string();
  }

  Cursor Save() const override {
    if (stage_ == nullptr) return Cursor(nlohmann::json{{"part", parts_->size()}});
    return Cursor::Of([part = part_, at = stage_->Save()] {
      return nlohmann::json{{"part", part}, {"at", at.ToJson()}};
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    const size_t part = cursor.at("part").get<size_t>();
    if (part > parts_->size() || (part == parts_->size() && cursor.contains("at"))) {
      return Status::Invalid("the saved position is in part ", part, " of ", parts_->size(),
                             "; resume with the sources it was saved with");
    }
    ARROW_RETURN_NOT_OK(Enter(part));
    return stage_ == nullptr ? Status::OK() : stage_->Restore(cursor.at("at"));
  }

  Result<std::optional<int64_t>> NumRows() override {
    int64_t rows = 0;
    for (const ConcatPart& part : *parts_) {
      ARROW_ASSIGN_OR_RAISE(const auto of_part, RowsOf(part));
      if (!of_part.has_value()) return std::nullopt;
      rows += *of_part;
    }
    return rows;
  }

  Result<bool> Seek(int64_t row) override {
    for (size_t part = 0; part < parts_->size(); ++part) {
      ARROW_ASSIGN_OR_RAISE(const auto rows, RowsOf((*parts_)[part]));
      if (!rows.has_value()) return false;
      if (row < *rows) {
        ARROW_RETURN_NOT_OK(Enter(part));
        return stage_->Seek(row);
      }
      row -= *rows;
    }
    return false;
  }

  void Cancel() override {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    if (stage_ != nullptr) stage_->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  StageStats stats() const override {
    StageStats stats = done_;
    std::optional<double> share;
    if (stage_ != nullptr) {
      const StageStats now = stage_->stats();
      stats.AddUpstream(now);
      share = now.read.share();
    }
    stats.rows = rows_;
    stats.read = ReadOf(share);
    return stats;
  }

 private:
  Result<std::optional<Batch>> DoNext() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    for (;;) {
      if (stage_ == nullptr) return std::nullopt;
      ARROW_RETURN_NOT_OK(FuseOps());
      ARROW_ASSIGN_OR_RAISE(auto batch, stage_->Next());
      if (batch.has_value()) {
        batch->addresses = Renamed(batch->addresses);
        rows_ += batch->num_rows();
        return batch;
      }
      done_.AddUpstream(stage_->stats());
      ARROW_RETURN_NOT_OK(Enter(part_ + 1));
    }
  }

  /// How much was read where `share` of the present part was: a part counts by the bytes of its
  /// files, or all parts alike.
  ReadShare ReadOf(std::optional<double> share) const {
    std::vector<double> weights;
    for (const ConcatPart& part : *parts_) {
      if (const auto bytes = BytesOfFiles(*part.plan.node); bytes) weights.push_back(*bytes);
    }
    ReadShare read;
    read.in_bytes = weights.size() == parts_->size();
    if (!read.in_bytes) weights.assign(parts_->size(), 1.0);
    for (size_t part = 0; part < weights.size(); ++part) {
      read.whole += weights[part];
      if (part < part_) read.done += weights[part];
      if (part != part_ || stage_ == nullptr) continue;
      if (!share.has_value()) return ReadShare::Unknown();
      read.done += *share * weights[part];
    }
    return read;
  }

  /// Rows that come of a part, where that is known.
  Result<std::optional<int64_t>> RowsOf(const ConcatPart& part) {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    if (!AllKeepRows(ops_) || !AllKeepRows(kept_ops_) || !AllKeepRows(ops_before_kept_)) {
      return std::nullopt;
    }
    ARROW_ASSIGN_OR_RAISE(auto stage, part.plan.make(context_));
    return stage->NumRows();
  }

  Status Enter(size_t part) {
    std::unique_ptr<Stage> stage;
    if (part < parts_->size() && (part != part_ || fused_)) {
      ARROW_ASSIGN_OR_RAISE(stage, (*parts_)[part].plan.make(context_));
      if (!stage->schema()->Equals(*input_schema_)) {
        return Status::TypeError(
            "sources that are read one after the other need the same columns: source ", part,
            " has ", stage->schema()->ToString(), ", the first has ", input_schema_->ToString());
      }
    } else if (part < parts_->size()) {
      return Status::OK();  // made by Init() and not read yet
    }
    std::lock_guard<std::mutex> lock(mutex_);
    stage_ = std::move(stage);
    part_ = part;
    fused_ = false;
    renamed_.clear();
    if (cancelled_ && stage_ != nullptr) stage_->Cancel();
    return Status::OK();
  }

  Status ApplyTo(std::unique_ptr<Stage>* stage,
                 const std::vector<std::shared_ptr<const BatchOp>>& ops) const {
    for (const auto& op : ops) {
      ARROW_ASSIGN_OR_RAISE(*stage, MakeMapStage(std::move(*stage), op, context_));
    }
    return Status::OK();
  }

  Status FuseOps() {
    if (fused_) return Status::OK();
    fused_ = true;
    std::unique_ptr<Stage> stage;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stage = std::move(stage_);
    }
    if (keeping_.has_value()) {
      ARROW_RETURN_NOT_OK(ApplyTo(&stage, ops_before_kept_));
      ARROW_ASSIGN_OR_RAISE(const std::string problem,
                            stage->KeepBlocks(kept_ops_, keeping_->OfPart(part_)));
      if (!problem.empty()) ARROW_RETURN_NOT_OK(ApplyTo(&stage, kept_ops_));
    }
    ARROW_RETURN_NOT_OK(ApplyTo(&stage, ops_));
    std::lock_guard<std::mutex> lock(mutex_);
    stage_ = std::move(stage);
    if (cancelled_) stage_->Cancel();
    return Status::OK();
  }

  Addresses Renamed(const Addresses& addresses) {
    const auto& names = (*parts_)[part_].shard_names;
    const std::optional<int32_t> end = ends_.empty() ? std::nullopt : ends_[part_];
    if (names.empty() && !end.has_value()) return addresses;
    return addresses.Renamed([&](const std::shared_ptr<const ShardRef>& shard) {
      if (shard == nullptr) return shard;
      const auto name = names.find(shard->shard);
      if (name == names.end() && !end.has_value()) return shard;
      const std::string& shown = name == names.end() ? shard->shard : name->second;
      auto& ref = renamed_[shown];
      if (ref == nullptr) {
        ref = std::make_shared<const ShardRef>(ShardRef{shard->source, shown, shard->epoch,
                                                        shard->has_own_ends,
                                                        end.has_value() ? end : shard->eos_id});
      }
      return ref;
    });
  }

  const std::shared_ptr<const std::vector<ConcatPart>> parts_;
  const std::vector<std::optional<int32_t>> ends_;
  const StageContext context_;
  std::shared_ptr<arrow::Schema> input_schema_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<const BatchOp>> ops_;
  std::optional<BlockKeeping> keeping_;  // of what kept_ops_ make
  std::vector<std::shared_ptr<const BatchOp>> ops_before_kept_;
  std::vector<std::shared_ptr<const BatchOp>> kept_ops_;
  size_t part_ = 0;
  bool fused_ = false;
  std::map<std::string, std::shared_ptr<const ShardRef>> renamed_;
  StageStats done_;
  int64_t rows_ = 0;
  std::mutex mutex_;  // guards stage_ against Cancel()
  std::atomic<bool> cancelled_{false};
  std::unique_ptr<Stage> stage_;
};

}  // namespace

StreamPlan ConcatPlan(std::vector<ConcatPart> parts, const JoinOptions& join) {
  nlohmann::json names = nlohmann::json::array();
  for (const ConcatPart& part : parts) names.push_back(part.shard_names);
  auto node = MakeNode("concat", {{"shard_names", std::move(names)}});
  node->facts.why_undivided = "several sources";
  node->rules = ShardNameRules();
  StreamFacts& facts = node->facts;
  std::vector<JoinedStream> streams;
  facts.finitude = Finitude::kFinite;
  facts.is_packed = !parts.empty();
  for (size_t i = 0; i < parts.size(); ++i) {
    const StreamFacts& of_part = parts[i].plan.facts();
    facts.is_packed = facts.is_packed && of_part.is_packed;
    facts.counts_steps = facts.counts_steps || of_part.counts_steps;
    if (facts.finitude == Finitude::kFinite) facts.finitude = of_part.finitude;
    if (facts.why_endless.empty()) facts.why_endless = of_part.why_endless;
    facts.paddings = JoinedPaddings(facts.paddings, of_part.paddings);
    node->inputs.push_back({"part[" + std::to_string(i) + "].", parts[i].plan.node});
    streams.push_back({parts[i].name.empty() ? "part[" + std::to_string(i) + "]" : parts[i].name,
                       of_part.vocabularies});
  }
  const auto joined = JoinedOnce(std::move(streams), join);
  facts.vocabularies = AllOf(joined);
  StreamPlan plan;
  plan.node = std::move(node);
  const auto shared = std::make_shared<const std::vector<ConcatPart>>(std::move(parts));
  plan.schema = [parts = shared]() -> Result<std::shared_ptr<arrow::Schema>> {
    if (parts->empty()) return arrow::schema(arrow::FieldVector{});
    return parts->front().plan.schema();
  };
  plan.make = [parts = shared,
               joined](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto vocabularies, joined());
    auto stage = std::make_unique<ConcatStage>(parts, std::move(vocabularies.ends), context);
    ARROW_RETURN_NOT_OK(stage->Init());
    return stage;
  };
  return plan;
}

}  // namespace easydata::source
