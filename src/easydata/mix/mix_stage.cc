#include "easydata/mix/mix_stage.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/mix/union_schema.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_timer.h"

namespace easydata {
namespace {

// A batch goes out at this many rows or this much content: bounds of memory, not of the stream.
constexpr size_t kMaxRows = 1024;
constexpr int64_t kMaxBytes = int64_t{4} << 20;

/// One of the streams that are mixed, with the batch that examples are being taken from.
struct MixSource {
  std::string name;
  StageFactory make;
  std::unique_ptr<Stage> stage;
  int64_t passes = 0;  // completed
  bool seen_whole = false;
  bool pass_has_rows = false;
  /// The stage's position before the batch in hand; null where there is none.
  std::shared_ptr<const nlohmann::json> before;
  std::optional<Batch> batch;
  std::vector<int64_t> bytes;   // of content, by row of the batch
  std::vector<int64_t> tokens;  // by row, where the clock counts them
  int64_t used = 0;             // rows of the batch that were given out; after a restore, to skip
  int32_t part = -1;            // of the batch among those that are being gathered
  /// The last shard without a source name, and the same with the name that it has in the mix.
  std::shared_ptr<const ShardRef> unnamed;
  std::shared_ptr<const ShardRef> named;

  const std::shared_ptr<const ShardRef>& Named(const std::shared_ptr<const ShardRef>& shard) {
    if (shard == nullptr || !shard->source.empty()) return shard;
    if (shard != unnamed) {
      unnamed = shard;
      named = std::make_shared<const ShardRef>(ShardRef{name, shard->shard});
    }
    return named;
  }

  /// Puts the source's name in the mix where the source has none of its own.
  void NameRows(Batch* rows) {
    Addresses addresses;
    for (const Addresses::Run& run : rows->addresses.runs()) {
      addresses.Append(Named(run.shard), run.row, run.sub_row, run.count);
    }
    rows->addresses = std::move(addresses);
    for (DropCount& count : rows->dropped) {
      if (count.source.empty()) count.source = name;
    }
  }

  Status NameError(const Status& error) {
    const Address* found = RowErrorAddress(error);
    if (found == nullptr || RowErrorCause(error) != nullptr) return error;
    const std::string place = found->ToString() + ": ";
    if (Named(found->shard) == found->shard || error.message().rfind(place, 0) != 0) return error;
    Address address = *found;
    address.shard = Named(found->shard);
    return RowError(std::move(address), error.message().substr(place.size()), error.code());
  }
};

class MixStage : public Stage {
 public:
  MixStage(std::vector<MixSource> sources, MixOptions options, MixOrder order,
           const StageContext& context, std::shared_ptr<arrow::Schema> rows_schema)
      : sources_(std::move(sources)),
        options_(std::move(options)),
        order_(std::move(order)),
        context_(context),
        rows_schema_(std::move(rows_schema)),
        schema_(rows_schema_) {
    if (options_.add_source) {
      schema_ = schema_->AddField(schema_->num_fields(), arrow::field(kSourceColumn, arrow::utf8()))
                    .ValueOrDie();
    }
  }

  Result<std::optional<Batch>> Next() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    parts_.clear();
    rows_.clear();
    row_sources_.clear();
    for (MixSource& source : sources_) source.part = -1;
    int64_t bytes = 0;
    while (failed_.ok() && !ended_ && rows_.size() < kMaxRows && bytes < kMaxBytes) {
      failed_ = Pick(&bytes);
    }
    if (rows_.empty()) {
      ARROW_RETURN_NOT_OK(failed_);
      if (dropped_.empty()) return std::nullopt;
    }
    ARROW_ASSIGN_OR_RAISE(Batch batch, GatherRows(parts_, rows_, rows_schema_));
    parts_.clear();
    if (options_.add_source) ARROW_RETURN_NOT_OK(AddSourceColumn(&batch));
    batch.dropped = std::exchange(dropped_, {});
    num_rows_ += batch.num_rows();
    return batch;
  }

  Status Save(nlohmann::json* cursor) const override {
    order_.Save(cursor);
    (*cursor)["offset"] = offset_;
    if (options_.clock.row_tokens > 0) (*cursor)["tokens"] = tokens_;
    nlohmann::json& sources = (*cursor)["sources"] = nlohmann::json::object();
    for (const MixSource& source : sources_) {
      nlohmann::json& saved = sources[source.name];
      saved["pass"] = source.passes;
      if (options_.stop == StopStrategy::kAllExhausted) saved["seen_whole"] = source.seen_whole;
      saved["used"] = source.before != nullptr ? source.used : 0;
      if (source.before != nullptr) {
        saved["upstream"] = *source.before;
      } else {
        ARROW_RETURN_NOT_OK(source.stage->Save(&saved["upstream"]));
      }
    }
    return Status::OK();
  }

  Status Restore(const nlohmann::json& cursor) override {
    ARROW_RETURN_NOT_OK(order_.Restore(cursor));
    offset_ = cursor.at("offset").get<int64_t>();
    tokens_ = cursor.value("tokens", int64_t{0});
    const nlohmann::json& sources = cursor.at("sources");
    for (MixSource& source : sources_) {
      if (!sources.contains(source.name)) {
        return Status::Invalid("the saved state knows nothing of sources[\"", source.name, "\"]");
      }
      const nlohmann::json& saved = sources.at(source.name);
      source.passes = saved.at("pass").get<int64_t>();
      source.seen_whole = saved.value("seen_whole", false);
      if (source.passes > 0) ARROW_RETURN_NOT_OK(Make(&source));
      // It was read before: should this pass have ended, that is no sign of an empty source.
      source.pass_has_rows = true;
      ARROW_RETURN_NOT_OK(source.stage->Restore(saved.at("upstream")));
      source.used = saved.at("used").get<int64_t>();
      if (source.used > 0) {
        source.before = std::make_shared<nlohmann::json>(saved.at("upstream"));
      }
    }
    if (offset_ > 0) {
      order_.StartBlock(order_.tokens_at_start());
      in_block_ = true;
      if (offset_ >= order_.block_size()) return Status::Invalid("the saved mix is damaged");
    }
    return Status::OK();
  }

  void Cancel() override {
    cancelled_ = true;
    std::lock_guard<std::mutex> lock(mutex_);
    for (MixSource& source : sources_) source.stage->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = num_rows_;
    stats.AddUpstream(past_);
    for (const MixSource& source : sources_) stats.AddUpstream(source.stage->stats());
    return stats;
  }

 private:
  /// Takes the next example of the order, or ends the stream.
  Status Pick(int64_t* bytes) {
    if (!in_block_) {
      order_.StartBlock(tokens_);
      in_block_ = true;
    }
    const int32_t index = order_.order()[offset_];
    MixSource& source = sources_[index];
    while (!HasRow(source)) {
      ARROW_ASSIGN_OR_RAISE(bool any, Pull(&source));
      if (any) continue;
      ARROW_RETURN_NOT_OK(EndPass(&source));
      if (ended_) return Status::OK();
    }
    if (source.part < 0) {
      source.part = static_cast<int32_t>(parts_.size());
      parts_.push_back(*source.batch);
    }
    rows_.push_back({source.part, source.used});
    row_sources_.push_back(index);
    *bytes += source.bytes[source.used];
    if (!source.tokens.empty()) tokens_ += source.tokens[source.used];
    if (++source.used == source.batch->num_rows()) Drop(&source);
    if (++offset_ == order_.block_size()) {
      order_.EndBlock();
      offset_ = 0;
      in_block_ = false;
    }
    return Status::OK();
  }

  static bool HasRow(const MixSource& source) { return source.batch.has_value(); }

  /// Lets the batch in hand go: the position is the stage's own again.
  static void Drop(MixSource* source) {
    source->batch.reset();
    source->before = nullptr;
    source->used = 0;
    source->part = -1;
  }

  /// Pulls the source's next batch with rows; false at the end of its pass.
  Result<bool> Pull(MixSource* source) {
    for (;;) {
      auto before = source->before;
      if (before == nullptr) {
        auto saved = std::make_shared<nlohmann::json>();
        ARROW_RETURN_NOT_OK(source->stage->Save(saved.get()));
        before = std::move(saved);
      }
      auto pulled = source->stage->Next();
      if (!pulled.ok()) return source->NameError(pulled.status());
      auto next = std::move(pulled).ValueUnsafe();
      if (next.has_value()) source->NameRows(&*next);
      if (!next.has_value()) {
        if (source->used > 0) {
          return Status::Invalid("sources[\"", source->name,
                                 "\"] has fewer rows than at the save: its data changed since");
        }
        return false;
      }
      // What was dropped beside rows that are skipped was counted before the restore.
      if (source->used == 0) {
        dropped_.insert(dropped_.end(), next->dropped.begin(), next->dropped.end());
      }
      next->dropped.clear();
      const int64_t num_rows = next->num_rows();
      if (num_rows > 0) source->pass_has_rows = true;
      if (source->used >= num_rows) {
        source->used -= num_rows;
        source->before = nullptr;
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(next->rows, ToUnion(next->rows, *rows_schema_));
      source->bytes = ContentBytesByRow(*next->rows);
      ARROW_RETURN_NOT_OK(CountTokens(*next->rows, source));
      source->batch = std::move(*next);
      source->before = std::move(before);
      source->part = -1;
      return true;
    }
  }

  Status CountTokens(const arrow::RecordBatch& rows, MixSource* source) const {
    source->tokens.clear();
    if (options_.clock.row_tokens == 0) return Status::OK();
    const auto column = rows.GetColumnByName(options_.token_column);
    source->tokens.resize(rows.num_rows(), 0);
    auto count = [&](const auto& lists) {
      for (int64_t i = 0; i < lists.length(); ++i) source->tokens[i] = lists.value_length(i);
      return Status::OK();
    };
    switch (column == nullptr ? arrow::Type::NA : column->type_id()) {
      case arrow::Type::LIST:
        return count(static_cast<const arrow::ListArray&>(*column));
      case arrow::Type::LARGE_LIST:
        return count(static_cast<const arrow::LargeListArray&>(*column));
      case arrow::Type::FIXED_SIZE_LIST:
        return count(static_cast<const arrow::FixedSizeListArray&>(*column));
      default:
        return Status::TypeError("sources[\"", source->name, "\"]: a weight schedule that counts ",
                                 "steps of packed rows needs lists of tokens in column \"",
                                 options_.token_column, "\"");
    }
  }

  /// The source has no more rows: ends the mix or starts the source's next pass.
  Status EndPass(MixSource* source) {
    if (!source->pass_has_rows) {
      return Status::Invalid("sources[\"", source->name,
                             "\"] is empty: a mix cannot take examples from it; remove it from the "
                             "mix, or look at what filters its rows out");
    }
    source->seen_whole = true;
    bool all = true;
    for (size_t i = 0; i < sources_.size(); ++i) {
      all = all && (sources_[i].seen_whole || !order_.Wanted(static_cast<int>(i)));
    }
    if (options_.stop == StopStrategy::kFirstExhausted ||
        (options_.stop == StopStrategy::kAllExhausted && all)) {
      ended_ = true;
      return Status::OK();
    }
    ++source->passes;
    return Make(source);
  }

  /// Makes the source's stage anew, for its current pass.
  Status Make(MixSource* source) {
    StageContext context = context_;
    context.epoch += source->passes;
    ARROW_ASSIGN_OR_RAISE(auto stage, source->make(context));
    Drop(source);
    source->pass_has_rows = false;
    std::lock_guard<std::mutex> lock(mutex_);
    past_.AddUpstream(source->stage->stats());
    source->stage = std::move(stage);
    if (cancelled_) source->stage->Cancel();
    return Status::OK();
  }

  Status AddSourceColumn(Batch* batch) const {
    arrow::StringBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(row_sources_.size())));
    for (int32_t source : row_sources_) {
      ARROW_RETURN_NOT_OK(builder.Append(sources_[source].name));
    }
    ARROW_ASSIGN_OR_RAISE(auto column, builder.Finish());
    ARROW_ASSIGN_OR_RAISE(
        batch->rows, batch->rows->AddColumn(batch->rows->num_columns(),
                                            schema_->field(schema_->num_fields() - 1), column));
    return Status::OK();
  }

  std::vector<MixSource> sources_;
  const MixOptions options_;
  MixOrder order_;
  const StageContext context_;
  const std::shared_ptr<arrow::Schema> rows_schema_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t offset_ = 0;  // examples of the block that were given out
  bool in_block_ = false;
  int64_t tokens_ = 0;
  bool ended_ = false;
  Status failed_;
  std::vector<DropCount> dropped_;
  // The batch that is being put together.
  std::vector<Batch> parts_;
  std::vector<RowRef> rows_;
  std::vector<int32_t> row_sources_;
  int64_t num_rows_ = 0;
  StageStats past_;
  std::mutex mutex_;  // guards the sources' stages against Cancel()
  std::atomic<bool> cancelled_{false};
};

}  // namespace

Result<std::unique_ptr<Stage>> MakeMixStage(const std::vector<StageFactory>& sources,
                                            const MixOptions& options,
                                            const StageContext& context) {
  ARROW_ASSIGN_OR_RAISE(MixOrder order, MixOrder::Make(options));
  if (sources.size() != options.names.size()) {
    return Status::Invalid("the mix has ", options.names.size(), " names, but ", sources.size(),
                           " sources");
  }
  std::vector<MixSource> made(sources.size());
  std::vector<std::shared_ptr<arrow::Schema>> schemas;
  for (size_t i = 0; i < sources.size(); ++i) {
    made[i].name = options.names[i];
    made[i].make = sources[i];
    ARROW_ASSIGN_OR_RAISE(made[i].stage, sources[i](context));
    auto schema = made[i].stage->schema();
    const int own = options.add_source ? schema->GetFieldIndex(kSourceColumn) : -1;
    if (own >= 0) {
      ARROW_ASSIGN_OR_RAISE(schema, schema->RemoveField(own));
    }
    schemas.push_back(std::move(schema));
  }
  ARROW_ASSIGN_OR_RAISE(auto schema, UnionSchema(options.names, schemas));
  return std::make_unique<MixStage>(std::move(made), options, std::move(order), context,
                                    std::move(schema));
}

Result<StreamPlan> MixPlan(const std::vector<StreamPlan>& sources, const MixOptions& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  StreamPlan plan;
  auto description = std::make_shared<nlohmann::json>(options.Description());
  std::vector<StageFactory> factories;
  for (size_t i = 0; i < sources.size(); ++i) {
    description->update(PrefixKeys(*sources[i].description, "sources[" + options.names[i] + "]."));
    factories.push_back(sources[i].make);
  }
  plan.description = std::move(description);
  plan.make = [factories, options](const StageContext& context) {
    return Timed(MakeMixStage(factories, options, context), "mix");
  };
  return plan;
}

}  // namespace easydata
