#include "easydata/mix/mix_stage.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/mix/mix_edit.h"
#include "easydata/mix/mix_source.h"
#include "easydata/mix/union_schema.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/row_tokens.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::mix {
namespace {

// A batch goes out at this many rows or this much content: bounds of memory, not of the stream.
constexpr size_t kMaxRows = 1024;
constexpr int64_t kMaxBytes = int64_t{512} << 10;  // the packer finds it in the cache
// And at this many passes over sources: a pass costs much more than the rows of a tiny source.
constexpr int kMaxPasses = 16;

// Sources whose stages, with open files and read-ahead, are open at once; the others are closed.
constexpr int kMaxOpen = 128;

/// The options with the clock of the mix's consumer, where the schedule goes by it.
MixSettings WithClock(MixSettings options, const Demand& demand) {
  if (!options.by_steps()) return options;
  options.clock.batch_sizes = demand.step_rows;
  options.clock.row_tokens = demand.row_tokens;
  if (demand.row_tokens > 0 && options.unit != MixUnit::kTokens) {
    options.token_column = demand.token_column;
  }
  return options;
}

/// The options by which one lane is ordered.
MixSettings OfLane(MixSettings options, const StageContext& context) {
  options.seed = context.SeedOf(options.seed);
  options.clock.lanes = context.lanes;
  return options;
}

using Schemas = std::vector<std::shared_ptr<arrow::Schema>>;

/// Adds the column of the sources' names where the mix has one.
std::shared_ptr<arrow::Schema> WithSourceField(const MixSettings& options,
                                               std::shared_ptr<arrow::Schema> schema) {
  if (!options.add_source) return schema;
  return schema->AddField(schema->num_fields(), arrow::field(kSourceColumn, arrow::utf8()))
      .ValueOrDie();
}

class MixStage : public Stage {
 public:
  MixStage(std::vector<std::unique_ptr<MixSource>> sources, MixSettings options, MixOrder order,
           const StageContext& context, std::shared_ptr<arrow::Schema> rows_schema)
      : sources_(std::move(sources)),
        options_(std::move(options)),
        order_(std::move(order)),
        context_(context),
        rows_schema_(std::move(rows_schema)),
        schema_(WithSourceField(options_, rows_schema_)),
        last_use_(sources_.size(), 0) {
    for (size_t i = 0; i < sources_.size(); ++i) source_indices_.push_back(static_cast<int>(i));
    std::vector<std::string> names;
    for (const auto& source : sources_) names.push_back(source->name());
    names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
    peek_errors_.resize(sources_.size());
    phases_.push_back({options_});
  }

  Result<std::optional<Batch>> Next() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    parts_.clear();
    rows_.clear();
    row_sources_.clear();
    for (const auto& source : sources_) source->part = -1;
    MixWatermark watermark;
    int64_t bytes = 0;
    passes_begun_ = 0;
    while (failed_.ok() && !ended_ && rows_.size() < kMaxRows && bytes < kMaxBytes &&
           (rows_.empty() || passes_begun_ < kMaxPasses)) {
      failed_ = Pick(&bytes);
      if (!in_block_)
        watermark.Note(static_cast<int64_t>(rows_.size()), {context_.epoch, order_.block()});
    }
    if (rows_.empty()) {
      ARROW_RETURN_NOT_OK(failed_);
      if (dropped_.empty()) {
        NoteEnd();
        return std::nullopt;
      }
    }
    Batch batch;
    if (leaves_gathering_) {
      batch.ungathered = std::make_shared<const UngatheredRows>(
          UngatheredRows{std::exchange(parts_, {}), std::exchange(rows_, {})});
    } else {
      ARROW_ASSIGN_OR_RAISE(batch, GatherRows(parts_, rows_, rows_schema_));
      parts_.clear();
      if (options_.add_source) ARROW_RETURN_NOT_OK(AddSourceColumn(&batch));
    }
    batch.dropped = std::exchange(dropped_, {});
    watermark.Note(batch.num_rows(), {context_.epoch, order_.block() + (offset_ > 0 ? 1 : 0)});
    batch.watermark = std::move(watermark);
    num_rows_ += batch.num_rows();
    return batch;
  }

  bool SkipGathering() override {
    // The column with the source of each row is not in the batches that rows are gathered from.
    leaves_gathering_ = !options_.add_source;
    return leaves_gathering_;
  }

  Cursor Save() const override {
    Position position;
    order_.Save(&position.mix);
    position.mix["epoch"] = context_.epoch;
    position.mix["offset"] = offset_;
    position.mix["tokens"] = tokens_;
    // Other ends are found again.
    if (ended_by_ != nullptr && now().stop == StopStrategy::kAllExhausted) {
      position.mix["ended_by"] = ended_by_->name();
    }
    for (const MixPhase& phase : phases_) {
      position.sees_whole =
          position.sees_whole || phase.options.stop == StopStrategy::kAllExhausted;
      position.has_end = position.has_end || phase.options.stop != StopStrategy::kRestart;
      position.sees_blank = position.sees_blank || phase.options.unit == MixUnit::kTokens;
    }
    position.names = names_;
    position.sources.reserve(sources_.size());
    for (const auto& source : sources_) position.sources.push_back(source->Save());
    if (phases_.size() > 1) {
      position.mix["before"] = DescribePhases(phases_);
      position.removed = removed_;
    }
    return Cursor::Of([position = std::move(position)] { return position.ToJson(); });
  }

  Status Restore(const nlohmann::json& cursor) override {
    ARROW_ASSIGN_OR_RAISE(phases_, PhasesBefore(cursor));
    for (MixPhase& phase : phases_) {
      phase.options = WithClock(std::move(phase.options), context_.demand);
    }
    phases_.push_back({options_});
    ARROW_RETURN_NOT_OK(UsePhase());
    const nlohmann::json& mix = cursor.at("mix");
    offset_ = mix.at("offset").get<int64_t>();
    tokens_ = mix.at("tokens").get<int64_t>();
    in_block_ = offset_ > 0;
    if (offset_ >= order_.block_size()) return Status::Invalid("the saved mix is damaged");
    ARROW_RETURN_NOT_OK(order_.Restore(mix, in_block_));
    removed_ = cursor.at("sources");
    for (const auto& source : sources_) {
      if (!removed_.contains(source->name())) {
        if (phases_.size() > 1) continue;  // it joins with the edit, from its first row on
        return Status::Invalid("the saved state knows nothing of sources[\"", source->name(),
                               "\"]");
      }
      const nlohmann::json& saved = removed_.at(source->name());
      ARROW_RETURN_NOT_OK(source->Restore(saved));
      removed_.erase(source->name());
    }
    ended_ = now().stop == StopStrategy::kAllExhausted && AllSeenWhole();
    if (!ended_) return Status::OK();
    for (const auto& source : sources_) {
      if (source->name() == mix.value("ended_by", std::string())) ended_by_ = source.get();
    }
    return Status::OK();
  }

  Result<bool> Seek(int64_t row) override {
    // A mix that ends may do so before the row; tokens must be read to be counted.
    if (now().stop != StopStrategy::kRestart || now().counts_tokens()) return false;
    ARROW_ASSIGN_OR_RAISE(const std::vector<int64_t> given, order_.Seek(row, cancelled_));
    for (size_t i = 0; i < sources_.size(); ++i) {
      ARROW_RETURN_NOT_OK(MakeRoomFor(sources_[i].get()));
      ARROW_ASSIGN_OR_RAISE(const bool found, sources_[i]->Seek(given[i]));
      if (!found) return false;
    }
    offset_ = row - order_.examples_at_start();
    in_block_ = true;
    return true;
  }

  void Cancel() override {
    cancelled_ = true;
    for (const auto& source : sources_) source->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = num_rows_;
    std::vector<std::optional<double>> shares;
    for (const auto& source : sources_) {
      const StageStats now = source->stats();
      shares.push_back(source->seen_whole ? 1.0 : now.read.share());
      stats.AddUpstream(now);
    }
    stats.read.is_known = true;  // who never ends the mix need not be known
    stats.read = stats.read.Of(ShareOf(shares));
    stats.mix_end = end_;  // those of mixes that are sources are no ends of this stream
    return stats;
  }

 private:
  struct Position {
    nlohmann::json mix;
    bool sees_whole = false;  // whether it matters which sources were whole, and which had tokens
    bool sees_blank = false;
    bool has_end = false;  // at which it is told how far each source was read
    std::shared_ptr<const std::vector<std::string>> names;
    std::vector<MixSource::Position> sources;
    nlohmann::json removed = nlohmann::json::object();

    nlohmann::json ToJson() const {
      nlohmann::json saved = nlohmann::json::object();
      for (size_t i = 0; i < sources.size(); ++i) {
        const MixSource::Position& source = sources[i];
        nlohmann::json& position = saved[(*names)[i]];
        position["pass"] = source.passes;
        position["used"] = source.used;
        position["upstream"] = source.upstream.ToJson();
        if (!source.pass_has_rows) position["unused"] = true;
        if (has_end && source.pass_has_rows && source.rows.has_value()) {
          position["rows"] = *source.rows;
        }
        if (has_end && source.passes > 0 && source.rows_before.has_value()) {
          position["rows_before"] = *source.rows_before;
        }
        if (sees_whole) position["seen_whole"] = source.seen_whole;
        if (sees_blank && !source.pass_has_tokens) position["blank"] = true;
      }
      saved.update(removed);
      return {{"mix", mix}, {"sources", std::move(saved)}};
    }
  };

  const MixSettings& now() const { return phases_.front().options; }

  /// Makes the order of the first phase, and finds its sources among sources_.
  Status UsePhase() {
    ARROW_ASSIGN_OR_RAISE(order_, MixOrder::Make(OfLane(now(), context_)));
    source_indices_.assign(now().names.size(), -1);
    for (size_t i = 0; i < source_indices_.size(); ++i) {
      for (size_t k = 0; k < sources_.size() && source_indices_[i] < 0; ++k) {
        if (sources_[k]->name() == now().names[i]) source_indices_[i] = static_cast<int>(k);
      }
    }
    peek_errors_.assign(source_indices_.size(), Status::OK());
    return Status::OK();
  }

  Status StartBlock() {
    while (phases_.size() > 1 && phases_.front().until <= order_.block()) {
      const int64_t block = order_.block();
      const int64_t examples = order_.examples_at_start();
      phases_.erase(phases_.begin());
      ARROW_RETURN_NOT_OK(UsePhase());
      order_.Begin(block, examples);
      if (phases_.size() == 1) removed_ = nlohmann::json::object();
    }
    order_.StartBlock(tokens_);
    in_block_ = true;
    return Status::OK();
  }

  /// Takes the next example of the order, or ends the stream.
  Status Pick(int64_t* bytes) {
    if (!in_block_) ARROW_RETURN_NOT_OK(StartBlock());
    int picked;
    if (now().unit == MixUnit::kTokens) {
      ARROW_ASSIGN_OR_RAISE(picked, PickByTokens());
    } else {
      picked = order_.order()[offset_];
      ARROW_RETURN_NOT_OK(FindRow(picked));
    }
    if (ended_) return Status::OK();
    MixSource& source = *sources_[source_indices_[picked]];
    if (source.part < 0) {
      source.part = static_cast<int32_t>(parts_.size());
      parts_.push_back(source.batch());
    }
    rows_.push_back({source.part, source.row()});
    row_sources_.push_back(source_indices_[picked]);
    *bytes += source.row_bytes();
    tokens_ += source.row_tokens();
    source.Take(&dropped_);
    NoteIfWhole(&source);
    if (now().unit == MixUnit::kTokens) order_.shares().Take();
    if (++offset_ == order_.block_size()) {
      order_.EndBlock();
      offset_ = 0;
      in_block_ = false;
    }
    return Status::OK();
  }

  /// Makes sure that the source has a row in hand, unless the mix ends.
  Status FindRow(int picked) {
    if (source_indices_[picked] < 0) return Gone(picked);
    MixSource* source = sources_[source_indices_[picked]].get();
    while (!source->has_row()) {
      ARROW_ASSIGN_OR_RAISE(const bool any, Pull(source));
      if (any) continue;
      ARROW_RETURN_NOT_OK(EndPass(source));
      if (ended_) return Status::OK();
    }
    return Status::OK();
  }

  /// The source whose document is next. An end or error counts as a document of no length, so that
  /// it comes out when its turn comes, however far sources were read ahead.
  Result<int> PickByTokens() {
    TokenShares& shares = order_.shares();
    for (;;) {
      for (int wanted = shares.Unknown(); wanted >= 0; wanted = shares.Unknown()) {
        shares.SetLength(wanted, Peek(wanted));
      }
      const int picked = shares.Next();
      if (source_indices_[picked] < 0) return Gone(picked);
      MixSource* source = sources_[source_indices_[picked]].get();
      if (source->has_row()) return picked;
      ARROW_RETURN_NOT_OK(peek_errors_[picked]);
      ARROW_RETURN_NOT_OK(EndPass(source));
      if (ended_) return picked;
      shares.ForgetLength();
    }
  }

  int64_t Peek(int wanted) {
    if (source_indices_[wanted] < 0) return 0;
    MixSource* source = sources_[source_indices_[wanted]].get();
    if (!source->has_row()) peek_errors_[wanted] = Pull(source).status();
    return source->has_row() ? source->row_tokens() : 0;
  }

  /// Pulls the source's next batch with rows; false at the end of its pass.
  Result<bool> Pull(MixSource* source) {
    ARROW_RETURN_NOT_OK(MakeRoomFor(source));
    const bool counts = now().counts_tokens() || options_.counts_tokens();
    return source->Pull(*rows_schema_, counts ? &options_.token_column : nullptr, &dropped_);
  }

  /// Closes the least recently used source where too many are open.
  Status MakeRoomFor(MixSource* source) {
    if (sources_.size() <= kMaxOpen) return Status::OK();
    int open = 0;
    size_t longest = sources_.size();
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].get() == source) {
        last_use_[i] = ++uses_;
      } else if (sources_[i]->is_open()) {
        ++open;
        if (longest == sources_.size() || last_use_[i] < last_use_[longest]) longest = i;
      }
    }
    return open < kMaxOpen ? Status::OK() : sources_[longest]->CloseStage();
  }

  Status Gone(int picked) const {
    return Status::Invalid(
        "sources[\"", now().names[picked],
        "\"] was removed from the mix, but the saved state continues with the mix that has it up "
        "to "
        "block ",
        phases_.front().until,
        "; leave it in with weight 0 until then, so that it stays readable; the mix is at block ",
        order_.block());
  }

  /// Where the mix ends with the last row of a source: checks whether that was it.
  void NoteIfWhole(MixSource* source) {
    if (now().stop != StopStrategy::kAllExhausted || source->seen_whole || source->has_row()) {
      return;
    }
    const Result<bool> more = Pull(source);
    if (!more.ok() || *more) return;  // an error comes again when the source's turn comes
    source->seen_whole = true;
    ended_ = AllSeenWhole();
    if (ended_) ended_by_ = source;
  }

  /// Whether each source that has a weight was given out whole.
  bool AllSeenWhole() const {
    for (size_t i = 0; i < source_indices_.size(); ++i) {
      if (source_indices_[i] < 0 || !order_.Wanted(static_cast<int>(i))) continue;
      if (!sources_[source_indices_[i]]->seen_whole) return false;
    }
    return true;
  }

  /// How much of the mix was read, by what was of each source: that one is seen whole first, or
  /// last, which is ahead, or behind.
  std::optional<double> ShareOf(const std::vector<std::optional<double>>& shares) const {
    if (now().stop == StopStrategy::kRestart) return std::nullopt;
    std::optional<double> share;
    for (size_t i = 0; i < source_indices_.size(); ++i) {
      if (source_indices_[i] < 0 || !order_.Wanted(static_cast<int>(i))) continue;
      const std::optional<double> of_source = shares[static_cast<size_t>(source_indices_[i])];
      if (!of_source.has_value()) return std::nullopt;
      const bool is_first = now().stop == StopStrategy::kFirstExhausted;
      if (!share.has_value()) share = of_source;
      share = is_first ? std::max(*share, *of_source) : std::min(*share, *of_source);
    }
    return ended_ ? 1.0 : share;
  }

  /// Ends the mix, or starts the next pass of a source that has no more rows.
  Status EndPass(MixSource* source) {
    if (!source->pass_has_rows()) {
      return Status::Invalid("sources[\"", source->name(),
                             "\"] is empty: a mix cannot take examples from it; remove it from the "
                             "mix, or look at what filters its rows out",
                             context_.OrFewerLanes());
    }
    source->seen_whole = true;
    if (now().stop == StopStrategy::kFirstExhausted ||
        (now().stop == StopStrategy::kAllExhausted && AllSeenWhole())) {
      ended_ = true;
      ended_by_ = source;
      return Status::OK();
    }
    if (now().unit == MixUnit::kTokens && !source->pass_has_tokens()) {
      return Status::Invalid("sources[\"", source->name(), "\"] has no tokens in any row of \"",
                             now().token_column,
                             "\": a mix by tokens cannot give it its share; remove it from the "
                             "mix, or mix by examples",
                             context_.OrFewerLanes());
    }
    ARROW_RETURN_NOT_OK(MakeRoomFor(source));
    ++passes_begun_;
    return source->StartPass();
  }

  /// Notes how far each source was read, once all rows of the mix were given.
  void NoteEnd() {
    if (end_ != nullptr || ended_by_ == nullptr) return;
    auto end = std::make_shared<MixEnd>();
    end->ended_by = ended_by_->name();
    for (const auto& source : sources_) end->sources.push_back(source->HowFar());
    end_ = std::move(end);
  }

  Status AddSourceColumn(Batch* batch) const {
    arrow::StringBuilder builder;
    ARROW_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(row_sources_.size())));
    for (int32_t source : row_sources_) {
      ARROW_RETURN_NOT_OK(builder.Append(sources_[source]->name()));
    }
    ARROW_ASSIGN_OR_RAISE(auto column, builder.Finish());
    ARROW_ASSIGN_OR_RAISE(
        batch->rows, batch->rows->AddColumn(batch->rows->num_columns(),
                                            schema_->field(schema_->num_fields() - 1), column));
    return Status::OK();
  }

  const std::vector<std::unique_ptr<MixSource>> sources_;
  std::shared_ptr<const std::vector<std::string>> names_;  // of the sources
  const MixSettings options_;
  /// The mixes that are in force one after the other; the last is the stage's own.
  std::vector<MixPhase> phases_;
  MixOrder order_;  // of the first phase
  std::vector<int>
      source_indices_;  // indices of its names in sources_; -1 for one that was removed
  const StageContext context_;
  const std::shared_ptr<arrow::Schema> rows_schema_;
  std::shared_ptr<arrow::Schema> schema_;
  int64_t offset_ = 0;  // examples of the block that were given out
  bool in_block_ = false;
  int64_t tokens_ = 0;
  bool ended_ = false;
  const MixSource* ended_by_ = nullptr;
  std::shared_ptr<const MixEnd> end_;
  Status failed_;
  std::vector<Status> peek_errors_;  // by index among the phase's names
  std::vector<DropCount> dropped_;
  nlohmann::json removed_ = nlohmann::json::object();  // positions of sources that were removed
  std::vector<int64_t> last_use_;
  int64_t uses_ = 0;
  bool leaves_gathering_ = false;
  // The batch that is being put together.
  int passes_begun_ = 0;
  SharedBatches parts_;
  std::vector<RowRef> rows_;
  std::vector<int32_t> row_sources_;
  int64_t num_rows_ = 0;
  std::atomic<bool> cancelled_{false};
};

/// TypeError unless the source may have tokens to count, where the mix counts them.
Status CheckTokens(const MixSettings& options, const std::string& name,
                   const arrow::Schema& schema) {
  if (!options.counts_tokens() || MayHaveTokens(schema, options.token_column)) return Status::OK();
  const auto field = schema.GetFieldByName(options.token_column);
  return Status::TypeError("sources[\"", name, "\"]: ",
                           options.unit == MixUnit::kTokens
                               ? "a mix by tokens (unit=\"tokens\")"
                               : "a weight schedule that counts steps of packed rows",
                           " needs lists of tokens in column \"", options.token_column,
                           "\"; tokenize before mixing; the column ",
                           field == nullptr ? "is not there" : "is " + field->type()->ToString());
}

/// The columns of the mixed rows, without the one that the mix adds.
Result<std::shared_ptr<arrow::Schema>> RowsSchema(const MixSettings& options, Schemas schemas) {
  for (size_t i = 0; i < schemas.size(); ++i) {
    std::shared_ptr<arrow::Schema>& schema = schemas[i];
    ARROW_RETURN_NOT_OK(CheckTokens(options, options.names[i], *schema));
    const int own = options.add_source ? schema->GetFieldIndex(kSourceColumn) : -1;
    if (own < 0) continue;
    ARROW_ASSIGN_OR_RAISE(schema, schema->RemoveField(own));
  }
  return UnionSchema(options.names, schemas);
}

}  // namespace

Result<std::unique_ptr<Stage>> MakeMixStage(
    const std::vector<StageFactory>& sources, const MixSettings& given, const StageContext& context,
    const std::function<Result<JoinedVocabularies>()>& joined) {
  const MixSettings options = WithClock(given, context.demand);
  ARROW_ASSIGN_OR_RAISE(MixOrder order, MixOrder::Make(OfLane(options, context)));
  if (sources.size() != options.names.size()) {
    return Status::Invalid("the mix has ", options.names.size(), " names, but ", sources.size(),
                           " sources");
  }
  StageContext shared = context;
  shared.demand = {};  // each source gives what the order takes, in passes of its own
  shared.read_ahead = context.ReadAheadOfEach(static_cast<int64_t>(sources.size()));
  std::vector<std::unique_ptr<MixSource>> made;
  Schemas schemas;
  for (size_t i = 0; i < sources.size(); ++i) {
    made.push_back(std::make_unique<MixSource>(options.names[i], sources[i], shared));
    ARROW_ASSIGN_OR_RAISE(auto schema, made[i]->Open());
    if (i >= kMaxOpen) ARROW_RETURN_NOT_OK(made[i]->CloseStage());
    schemas.push_back(std::move(schema));
  }
  ARROW_ASSIGN_OR_RAISE(auto schema, RowsSchema(options, std::move(schemas)));
  if (joined != nullptr) {
    ARROW_ASSIGN_OR_RAISE(const JoinedVocabularies vocabularies, joined());
    for (size_t i = 0; i < vocabularies.ends.size(); ++i) made[i]->CloseWith(vocabularies.ends[i]);
  }
  return std::make_unique<MixStage>(std::move(made), options, std::move(order), context,
                                    std::move(schema));
}

namespace {

/// Whether a mix ends, by its sources; sets `why` to what makes it endless.
Result<Finitude> FinitudeOf(const std::vector<StreamPlan>& sources, const MixSettings& options,
                            std::string* why) {
  if (options.stop == StopStrategy::kRestart) {
    *why =
        "stop_strategy: a mix with 'restart' never ends; set stop_strategy to 'first_exhausted' or "
        "'all_exhausted'";
    return Finitude::kEndless;
  }
  ARROW_ASSIGN_OR_RAISE(const MixOrder order, MixOrder::Make(options));
  // It ends with the first source that does, or with the last.
  const bool is_first = options.stop == StopStrategy::kFirstExhausted;
  bool any_finite = false;
  bool any_endless = false;
  bool any_unknown = false;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!order.Wanted(static_cast<int>(i))) continue;
    const StreamFacts& facts = sources[i].facts();
    any_finite = any_finite || facts.finitude == Finitude::kFinite;
    any_unknown = any_unknown || facts.finitude == Finitude::kUnknown;
    any_endless = any_endless || facts.is_endless();
    if (why->empty()) *why = facts.why_endless;
  }
  if (is_first && any_finite) return Finitude::kFinite;
  if (!is_first && any_endless) return Finitude::kEndless;
  if (any_unknown) return Finitude::kUnknown;
  return any_endless ? Finitude::kEndless : Finitude::kFinite;
}

}  // namespace

Result<StreamPlan> MixPlan(const std::vector<StreamPlan>& sources, const MixOptions& options,
                           const MixWiring& wiring) {
  const MixSettings settings{options, wiring};
  ARROW_RETURN_NOT_OK(settings.Validate());
  auto node = MakeNode("mix", settings.Description());
  node->facts.why_undivided = "a mix";
  node->facts.is_packed = true;
  node->facts.counts_steps = options.by_steps();
  ARROW_ASSIGN_OR_RAISE(node->facts.finitude,
                        FinitudeOf(sources, settings, &node->facts.why_endless));
  std::vector<StageFactory> factories;
  std::vector<JoinedStream> streams;
  for (size_t i = 0; i < sources.size(); ++i) {
    const StreamFacts& facts = sources[i].facts();
    if (facts.counts_steps) {
      return Status::Invalid(
          "sources[\"", options.names[i],
          "\"]: has a weight schedule that counts a loader's steps "
          "(schedule_unit=\"steps\"), which a mix inside a mix cannot see; let it "
          "count \"examples\"");
    }
    node->facts.is_packed = node->facts.is_packed && facts.is_packed;
    node->facts.paddings = JoinedPaddings(node->facts.paddings, facts.paddings);
    node->inputs.push_back({"sources[" + options.names[i] + "].", sources[i].node, true});
    factories.push_back(sources[i].make);
    streams.push_back({"sources[\"" + options.names[i] + "\"]", facts.vocabularies});
  }
  const auto joined = JoinedOnce(std::move(streams), {options.vocabularies, wiring.notice});
  node->facts.vocabularies = AllOf(joined);
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = [sources, settings]() -> Result<std::shared_ptr<arrow::Schema>> {
    Schemas schemas;
    for (const StreamPlan& source : sources) {
      ARROW_ASSIGN_OR_RAISE(schemas.emplace_back(), source.schema());
    }
    ARROW_ASSIGN_OR_RAISE(auto schema, RowsSchema(settings, std::move(schemas)));
    return WithSourceField(settings, std::move(schema));
  };
  plan.make = [factories, settings, joined](const StageContext& context) {
    return Timed(MakeMixStage(factories, settings, context, joined), "mix");
  };
  return plan;
}

}  // namespace easydata::mix
