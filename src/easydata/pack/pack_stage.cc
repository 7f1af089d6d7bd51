#include "easydata/pack/pack_stage.h"

#include <arrow/record_batch.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/config/descriptor.h"
#include "easydata/order/repeat_stage.h"
#include "easydata/pack/document_reader.h"
#include "easydata/pack/pack_tokens.h"
#include "easydata/pack/row_plan.h"
#include "easydata/pack/row_writer.h"
#include "easydata/pack/window_planner.h"
#include "easydata/stream/no_rows.h"
#include "easydata/stream/stage_timer.h"
#include "easydata/stream/window_position.h"

namespace easydata::pack {
namespace {

/// The common part of the strategies: Fill() fills the batch row by row.
class PackStage : public Stage {
 public:
  PackStage(std::unique_ptr<Stage> upstream, const PackSettings& options,
            const std::vector<TokenField>& fields)
      : options_(options),
        reader_(std::move(upstream), options, fields),
        writer_(options, fields) {}

  Result<std::optional<Batch>> Next() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    if (failed_.ok()) failed_ = Fill();
    if (writer_.num_rows() == 0) {
      ARROW_RETURN_NOT_OK(failed_);
      std::vector<DropCount> dropped = reader_.TakeDropped();
      if (dropped.empty()) return std::nullopt;
      // The stream ends with records that were left out: a batch without rows has their counts.
      Batch batch;
      ARROW_ASSIGN_OR_RAISE(batch.rows, NoRows(schema()));
      batch.spans = std::make_shared<SpanTable>();
      batch.dropped = std::move(dropped);
      return batch;
    }
    ARROW_ASSIGN_OR_RAISE(Batch batch, writer_.Finish());
    batch.dropped = reader_.TakeDropped();
    NoteWatermark(batch.num_rows());
    batch.watermark = std::exchange(watermark_, {});
    rows_ += batch.num_rows();
    return batch;
  }

  void Cancel() override {
    cancelled_ = true;
    reader_.upstream()->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return writer_.schema(); }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = rows_;
    stats.AddUpstream(reader_.upstream()->stats());
    return stats;
  }

 protected:
  /// Writes rows until the batch is full or the stream ends.
  virtual Status Fill() = 0;

  /// Notes that the first `rows` rows took what has been read so far.
  void NoteWatermark(int64_t rows) { watermark_.Note(rows, reader_.Watermark()); }

  const PackSettings options_;
  DocumentReader reader_;
  RowWriter writer_;

 private:
  Status failed_;
  MixWatermark watermark_;
  int64_t rows_ = 0;
  std::atomic<bool> cancelled_{false};
};

/// Concatenates and cuts. It reads no further than the document that the last row ends in.
class GreedyStage : public PackStage {
 public:
  using PackStage::PackStage;

  Cursor Save() const override {
    ReadPosition position = restored_;
    int64_t tokens = skip_tokens_;
    if (position.upstream.empty() && done_ < document_.length) {
      position = DocumentReader::Before(document_);
      tokens = done_;
    } else if (position.upstream.empty()) {
      position = reader_.After();
    }
    return Cursor::Of([position = std::move(position), tokens] {
      nlohmann::json cursor = position.ToJson();
      cursor["tokens"] = tokens;
      return cursor;
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    restored_ = ReadPosition::FromJson(cursor);
    skip_tokens_ = cursor.at("tokens").get<int64_t>();
    return reader_.Restore(restored_);
  }

 protected:
  Status Fill() override {
    const Status filled = FillRows();
    if (!filled.ok() && writer_.room() < options_.seq_length) {
      // The open row is not given out: the position is that of its beginning.
      restored_ = DocumentReader::Before(row_document_);
      skip_tokens_ = row_done_;
    }
    return filled;
  }

 private:
  Status FillRows() {
    while (!writer_.full()) {
      if (done_ == document_.length) {
        ARROW_ASSIGN_OR_RAISE(bool any, reader_.Next(&document_));
        done_ = skip_tokens_;
        if (skip_tokens_ > 0) reader_.TakeDropped();  // counted when its first part was given out
        skip_tokens_ = 0;
        restored_ = {};
        if (!any) {
          document_.length = done_ = 0;
          writer_.CloseRow();
          return Status::OK();
        }
        if (done_ >= document_.length) {
          return Status::Invalid(
              "the saved position is past the end of its document: the data changed since");
        }
      }
      if (writer_.room() == options_.seq_length) {
        row_document_ = document_;
        row_done_ = done_;
      }
      const auto length =
          static_cast<int32_t>(std::min<int64_t>(writer_.room(), document_.length - done_));
      ARROW_RETURN_NOT_OK(writer_.Put(document_, done_, length));
      done_ += length;
      NoteWatermark(writer_.num_rows());
    }
    return Status::OK();
  }

  Document document_;
  int64_t done_ = 0;  // tokens of the document that are written
  // What the open row begins with.
  Document row_document_;
  int64_t row_done_ = 0;
  ReadPosition restored_;
  int64_t skip_tokens_ = 0;
};

/// Plans the rows of a window of documents, then writes them.
class WindowedStage : public PackStage {
 public:
  WindowedStage(std::unique_ptr<Stage> upstream, const PackSettings& options,
                const std::vector<TokenField>& fields)
      : PackStage(std::move(upstream), options, fields), planner_(WindowPlanner::Make(options)) {}

  StageStats stats() const override {
    StageStats stats = PackStage::stats();
    stats.read = stats.read.Within(read_before_, position_.next(), position_.num_rows());
    return stats;
  }

  Cursor Save() const override {
    return position_.Save(
        [this] { return NextWindow(); },
        [shuffled = options_.shuffle_bins](const Window& window, nlohmann::json* cursor) {
          if (shuffled) (*cursor)["rows_before"] = window.rows_before;
          if (window.counted > 0) (*cursor)["counted"] = window.counted;
        });
  }

  Status Restore(const nlohmann::json& cursor) override {
    const auto start = ReadPosition::FromJson(cursor);
    position_.Restore(
        {start, cursor.value("rows_before", int64_t{0}), cursor.value("counted", int64_t{0})},
        cursor);
    return reader_.Restore(start);
  }

 protected:
  Status Fill() override {
    while (!writer_.full()) {
      if (position_.done()) {
        ARROW_RETURN_NOT_OK(OpenWindow());
        if (documents_.empty()) return Status::OK();
        continue;
      }
      const int64_t row = position_.next();
      for (int64_t p = plan_.row_starts[row]; p < plan_.row_starts[row + 1]; ++p) {
        const Piece& piece = plan_.pieces[p];
        ARROW_RETURN_NOT_OK(writer_.Put(documents_[piece.document], piece.offset, piece.length));
      }
      writer_.CloseRow();
      NoteWatermark(writer_.num_rows());
      position_.Advance();
    }
    return Status::OK();
  }

 private:
  struct Window {
    ReadPosition start;
    int64_t rows_before = 0;  // rows of the windows before it
    // Documents at its beginning that were read for the window before it: what was left out up to
    // the last of them was counted there.
    int64_t counted = 0;
  };

  Window NextWindow() const {
    Window next;
    next.rows_before = position_.window().rows_before + position_.num_rows();
    next.counted = static_cast<int64_t>(held_.size());
    if (held_.empty()) {
      next.start = reader_.After();
    } else {
      next.start = DocumentReader::Before(held_[0]);
    }
    return next;
  }

  Status OpenWindow() {
    const bool restored = position_.Begin([this] { return NextWindow(); });
    const Window& window = position_.window();
    read_before_ = reader_.upstream()->stats().read;
    plan_ = {};
    documents_.clear();
    bool last = false;
    bool fits = true;
    for (size_t held = 0; fits && !planner_->full();) {
      Document document;
      if (held < held_.size()) {
        document = std::move(held_[held++]);
      } else {
        ARROW_ASSIGN_OR_RAISE(bool any, reader_.Next(&document));
        last = !any;
        if (last) break;
        const auto read = static_cast<int64_t>(documents_.size()) + 1;
        if (restored && read == window.counted) reader_.TakeDropped();
      }
      ARROW_ASSIGN_OR_RAISE(fits, planner_->Add(document.length, &plan_));
      documents_.push_back(std::move(document));
    }
    const int64_t count = planner_->Close(window.rows_before, last, &plan_);
    held_.assign(std::make_move_iterator(documents_.begin() + count),
                 std::make_move_iterator(documents_.end()));
    documents_.resize(count);
    // Counted when the window's first rows came.
    if (position_.passes_over()) reader_.TakeDropped();
    return position_.Open(plan_.num_rows(), "documents");
  }

  std::unique_ptr<WindowPlanner> planner_;
  WindowPosition<Window> position_;
  std::vector<Document> documents_;
  RowPlan plan_;
  std::vector<Document> held_;  // read, but of the next window
  ReadShare read_before_;       // upstream, when the window was begun
};

}  // namespace

Result<std::unique_ptr<Stage>> MakePackStage(std::unique_ptr<Stage> upstream,
                                             const PackSettings& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  ARROW_ASSIGN_OR_RAISE(auto fields, FindTokenFields(*upstream->schema(), options));
  if (StrategyOf(options.strategy).make_planner == nullptr) {
    return std::make_unique<GreedyStage>(std::move(upstream), options, fields);
  }
  return std::make_unique<WindowedStage>(std::move(upstream), options, fields);
}

namespace {

/// The options that rows depend on: all that are declared and some more, but for those that the
/// strategy does not look at, or that add nothing to the rows: positions are to stay small.
nlohmann::json Described(const PackSettings& options, const Vocabularies& vocabularies) {
  nlohmann::json keys = config::WriteConfig<PackOptions>(options);
  const PackingStrategy& strategy = StrategyOf(options.strategy);
  if (!options.eos_token_id.has_value() && !strategy.adds_eos) keys.erase("eos_token_id");
  if (!options.eos_token_id.has_value() && strategy.adds_eos) {
    // Each document's own.
    keys["eos_token_id"] = nlohmann::json::array();
    for (const VocabularyPtr& vocabulary : vocabularies.known) {
      if (vocabulary->eos_id.has_value()) keys["eos_token_id"].push_back(*vocabulary->eos_id);
    }
  }
  keys["input_field"] = options.input_field;
  keys["token_fields"] = options.token_fields.value_or(std::vector<std::string>());
  keys["default_token_fields"] = !options.token_fields.has_value();
  if (!strategy.uses_num_packers) keys.erase("num_packers");
  keys.erase("pack_window");
  for (const char* name : {"labels", "ignore_first_label", "seq_lengths", "segment_sources"}) {
    if (keys[name] == false) keys.erase(name);
  }
  if (strategy.uses_window) {
    keys["window"] = options.pack_window;
    keys["window_bytes"] = options.pack_window_bytes;
  }
  if (strategy.shuffles_bins) {
    keys["shuffle_bins"] = options.shuffle_bins;
    if (options.shuffle_bins) keys["seed"] = options.seed;
  }
  return keys;
}

/// Rows that are filled up to one length have no documents to pack.
Status CheckNotPadded(const StreamPlan& upstream) {
  bool is_padded = false;
  VisitNodes(*upstream.node, [&](const PlanNode& node) { is_padded |= node.facts.is_padded; });
  if (!is_padded) return Status::OK();
  return Status::Invalid(
      "examples of fixed shapes cannot be packed: their padding would be packed as text; set "
      "fixed_shapes=False in the transform that makes them");
}

}  // namespace

Result<StreamPlan> PackPlan(const StreamPlan& upstream, const PackOptions& options,
                            const PackWiring& wiring) {
  PackSettings given{options, wiring};
  ARROW_RETURN_NOT_OK(given.Validate());
  ARROW_RETURN_NOT_OK(CheckNotPadded(upstream));
  ARROW_ASSIGN_OR_RAISE(const Vocabularies vocabularies, upstream.facts().Tokens());
  ARROW_ASSIGN_OR_RAISE(const PackSettings settings, WithTokenIds(std::move(given), vocabularies));
  auto node = MakeNode("pack", Described(settings, vocabularies), upstream);
  node->facts.is_packed = true;
  node->facts.balance_groups = 0;
  node->facts.carries_passes = true;
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = [schema = upstream.schema, settings]() -> Result<std::shared_ptr<arrow::Schema>> {
    ARROW_ASSIGN_OR_RAISE(const auto documents, schema());
    ARROW_ASSIGN_OR_RAISE(const auto fields, FindTokenFields(*documents, settings));
    return PackedSchema(settings, fields);
  };
  plan.make = [make = upstream.make, is_endless = upstream.facts().is_endless(),
               settings](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    const std::optional<int64_t> passes = context.demand.passes;
    StageContext documents = context;
    documents.demand.row_tokens = settings.seq_length;
    documents.demand.token_column = settings.input_field;
    documents.demand.passes = 1;
    PackSettings of_pass = settings;
    of_pass.never_ends = is_endless || !passes.has_value();
    // Batches of the rows of a step need no copy.
    if (const int64_t rows = context.demand.first_step_rows(); rows > 0) {
      of_pass.rows_per_batch = rows;
    }
    const bool is_repeated = passes.has_value() ? *passes != 1 : !is_endless;
    ARROW_ASSIGN_OR_RAISE(auto stage, is_repeated ? order::MakeRepeatStage(make, passes, documents)
                                                  : make(documents));
    return Timed(MakePackStage(std::move(stage), of_pass), "pack");
  };
  return plan;
}

}  // namespace easydata::pack
