#include "easydata/source/read_order_stage.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/ordered_map.h"
#include "easydata/source/piece_feed.h"
#include "easydata/source/piece_maker.h"
#include "easydata/source/quarantine.h"
#include "easydata/source/shard_error.h"
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/failing_stage.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::source {
namespace {

constexpr const char kAdvice[] =
    "; fix it, or set on_error=\"skip\" to leave such rows out and count them";

class ReadOrderStage : public FailingStage {
 public:
  ReadOrderStage(std::shared_ptr<const Source> source, const SourceStageOptions& options,
                 std::unique_ptr<ReadOrder> order, std::shared_ptr<arrow::Schema> schema,
                 const StageContext& context)
      : source_(std::move(source)),
        options_(options),
        context_(context),
        quarantine_(options.errors.path()),
        feed_(source_, options, std::move(order), schema, context),
        maker_(source_, options.errors.on_error, std::move(schema)) {
    nlohmann::json cursor;
    read_order()->Save(&cursor);
    if (const auto whole = read_order()->WholeBytes(); whole.has_value()) read_ = {0, *whole};
    if (!read_order()->by_block()) {  // blocks begin where they are
      ShardPosition start;
      start.row = options_.start_row;
      StartAt(start, &cursor);
    }
    cursor_ = Cursor(std::move(cursor));
  }

  ~ReadOrderStage() override { Cancel(); }

  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    // A task gives all rows of its block at once.
    if (op->piecewise() != nullptr) return false;
    ARROW_RETURN_NOT_OK(maker_.Add(std::move(op)));
    return true;
  }

  Result<std::string> KeepBlocks(const std::vector<std::shared_ptr<const BatchOp>>& ops,
                                 const BlockKeeping& keeping) override {
    // Rows are measured as the ops leave them that are there already.
    const bool is_behind = keeping.with_row_bytes || keeping.limit != nullptr;
    const bool is_measured_later = is_behind && !maker_.ops().empty();
    const BlockKeeping own = is_measured_later ? keeping.OfPart(maker_.ops().size()) : keeping;
    ARROW_RETURN_NOT_OK(maker_.Keep(ops, own));
    feed_.SetKept(std::make_unique<KeptPieces>(source_, own));
    limit_ = keeping.limit;
    if (keeping.counted == nullptr) return std::string();
    // Nobody knows how many rows of a block ops leave out before the limit.
    if (limit_ == nullptr && !AllKeepRows(maker_.ops())) keeping.counted->rows_left.reset();
    ARROW_RETURN_NOT_OK(feed_.CountKept(keeping.counted));
    return std::string();
  }

  Cursor Save() const override { return cursor_; }

  Status Restore(const nlohmann::json& cursor) override {
    ARROW_RETURN_NOT_OK(read_order()->Restore(cursor));
    cursor_ = Cursor(cursor);
    read_.is_known = false;  // until the file is open
    if (!cursor.contains("row")) return Status::OK();
    ShardPosition start;
    start.row = cursor.at("row").get<int64_t>();
    start.at = cursor.value("at", int64_t{0});
    start.skip = cursor.value("skip", int64_t{0});
    start.line = cursor.value("line", int64_t{0});
    start.exact = cursor.contains("at");
    feed_.StartAt(start);
    return Status::OK();
  }

  Result<std::optional<int64_t>> NumRows() override {
    if (!gives_every_row()) return std::nullopt;
    nlohmann::json first;
    read_order()->Save(&first);
    int64_t rows = 0;
    ARROW_ASSIGN_OR_RAISE(const auto part, PartAt(std::numeric_limits<int64_t>::max(), &rows));
    ARROW_RETURN_NOT_OK(read_order()->Restore(first));
    return part.has_value() ? std::nullopt : std::optional<int64_t>(rows);
  }

  Result<bool> Seek(int64_t row) override {
    if (!gives_every_row()) return false;
    int64_t before = 0;
    ARROW_ASSIGN_OR_RAISE(const auto part, PartAt(row, &before));
    if (!part.has_value() || before > row) return false;
    nlohmann::json cursor;
    read_order()->Save(&cursor);
    ARROW_RETURN_NOT_OK(read_order()->Restore(cursor));
    ShardPosition start;
    start.row = part->from.row + row - before;
    StartAt(start, &cursor);
    cursor_ = Cursor(std::move(cursor));
    return true;
  }

  void Cancel() override {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    if (map_ != nullptr) map_->Cancel();
    feed_.Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return maker_.schema(); }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = rows_;
    stats.bytes_read = feed_.bytes_read();
    stats.read = read_;
    stats.wait_seconds["read"] = pull_seconds_;
    stats.busy_seconds = maker_.busy_seconds();
    return stats;
  }

 private:
  ReadOrder* read_order() { return feed_.order(); }

  void StartAt(const ShardPosition& start, nlohmann::json* cursor) {
    feed_.StartAt(start);
    AddPosition(start, cursor);
  }

  /// Whether no row is left out or replaced.
  bool gives_every_row() const {
    return options_.errors.raises() && options_.start_row == 0 && AllKeepRows(maker_.ops());
  }

  /// The part that has row `row` of the stream, and the rows before it; nothing where there are
  /// fewer rows. Where it is not known how many rows a part has, that part, and `before` is more
  /// than `row`.
  Result<std::optional<ShardPart>> PartAt(int64_t row, int64_t* before) {
    for (;;) {
      if (cancelled_) return Status::Cancelled("the stream was closed");
      ARROW_ASSIGN_OR_RAISE(auto part, read_order()->Next());
      if (!part.has_value()) return part;
      std::optional<int64_t> rows = part->rows;
      if (!rows.has_value() && part->end_at == kToTheEnd) {
        ARROW_ASSIGN_OR_RAISE(rows, source_->KnownRows(part->shard));
      }
      if (!rows.has_value()) {
        *before = std::numeric_limits<int64_t>::max();
        return part;
      }
      if (row < *before + *rows) return part;
      *before += *rows;
    }
  }

  Result<std::optional<Batch>> DoNext() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    ARROW_RETURN_NOT_OK(pending_);
    if (map_ == nullptr) StartMap();
    std::optional<PieceRows> next;
    do {
      ARROW_ASSIGN_OR_RAISE(next, map_->Next());
      if (!next.has_value()) {
        read_.done = read_.whole;
        read_.is_known = read_.whole > 0;
        return std::nullopt;
      }
    } while (next->part->is_lost);  // what was read of it behind the block that could not be
    if (limit_ != nullptr) {
      const int64_t left = limit_->max_rows - limit_->rows;
      if (next->read_rows > left) {
        ARROW_ASSIGN_OR_RAISE(next, maker_.MakeFirst(*std::move(next), left));
      }
      next->batch.read_rows = next->read_rows;
    }
    PieceRows& done = *next;
    if (done.start.has_value()) {
      row_ = done.start->row - done.start->skip;
      line_ = done.start->line;
      at_ = done.start->at;
    }
    const auto& ref = done.part->ref;
    done.batch.addresses.ShiftRows(row_);
    for (DropCount& count : done.batch.dropped) {
      for (Address& address : count.addresses) address.row += row_;
    }
    // The row of the block that has an error: the rows before it come first, and the rest of the
    // block comes when the stream goes on once that row is fixed.
    std::optional<int64_t> stopped_at;
    if (!done.op_error.ok()) {
      pending_ = ShiftRowError(done.op_error, row_);
      const Address* bad = RowErrorAddress(done.op_error);
      if (bad == nullptr || done.batch.rows == nullptr) return pending_;
      stopped_at = bad->row;
      std::erase_if(done.block.bad, [&](const BadRow& row) { return row.row > *stopped_at; });
    } else if (done.block.stopped.has_value()) {
      pending_ = ErrorOf(*done.block.stopped, ref);
      stopped_at = done.block.stopped->row;
    } else if (feed_.IsLost(done.block.broken)) {
      ARROW_RETURN_NOT_OK(LeaveShardOut(&done));
    } else if (!done.block.broken.ok()) {
      Status error = done.block.broken;
      if (done.block.breaks_at_line) {
        error = error.WithMessage("line ", line_ + done.block.num_lines + 1, ": ", error.message());
      }
      pending_ = ShardError(error, ref, row_ + done.block.num_rows);
      stopped_at = done.block.num_rows;
    }
    ARROW_RETURN_NOT_OK(HandleBadRows(done.block, ref, &done.batch));
    const int64_t first_row = row_;
    const int64_t first_line = line_;
    row_ += done.block.num_rows;
    line_ += done.block.num_lines;
    if (!pending_.ok() && done.batch.num_rows() == 0 && done.batch.dropped.empty()) return pending_;
    ShardPosition position;
    position.row = row_;
    position.line = line_;
    position.at = done.next_at;
    position.skip = done.next_skip;
    position.exact = true;
    if (stopped_at.has_value()) {
      position = ShardPosition();
      position.row = first_row + *stopped_at;
      if (done.part->has_relative_rows) {
        position = {position.row, at_, *stopped_at, first_line, /*exact=*/true};
      }
    }
    at_ = done.next_at;
    NoteRead(*done.part, done.file_bytes);
    cursor_ = Cursor::Of([part = done.part, position] {
      nlohmann::json cursor = part->cursor;
      AddPosition(position, &cursor);
      return cursor;
    });
    rows_ += done.batch.num_rows();
    return std::move(done.batch);
  }

  /// Notes how much of the files lies before the position.
  void NoteRead(const OpenPart& part, int64_t file_bytes) {
    double share = 1;  // a block by itself is there as soon as it is
    if (part.num_rows > 0) {
      share = static_cast<double>(row_ - part.from.row) / static_cast<double>(part.num_rows);
    } else if (file_bytes >= 0 && part.file_size > 0) {
      share = static_cast<double>(file_bytes) / static_cast<double>(part.file_size);
    } else if (part.num_blocks > 0) {
      share = static_cast<double>(at_) / static_cast<double>(part.num_blocks);
    }
    read_.done = part.bytes_before + part.bytes * std::clamp(share, 0.0, 1.0);
    read_.is_known = read_.whole > 0;
  }

  /// Counts and reports what is left of a shard behind the rows of a block.
  Status LeaveShardOut(PieceRows* done) {
    const OpenPart& part = *done->part;
    part.is_lost = true;
    const int64_t row = row_ + done->block.num_rows;
    const std::string error = done->block.broken.message();
    // One that did not open is not waited for once more.
    auto known = exec::CatchExceptions([&]() -> Result<std::optional<int64_t>> {
      if (!part.is_opened) return std::nullopt;
      return source_->KnownRows(part.shard);
    });
    const bool is_known = known.ok() && known->has_value() && !part.has_relative_rows;
    if (is_known) {
      CountDropped(&done->batch.dropped, {part.ref, row}, "shard",
                   std::max<int64_t>(**known - row, 0));
    } else {
      CountDropped(&done->batch.dropped, {part.ref, row}, "shard, rows unknown", 1);
    }
    if (options_.errors.on_missing == OnError::kQuarantine) {
      ARROW_RETURN_NOT_OK(quarantine_.AddShard(part.ref->source, part.ref->shard, row, error));
    }
    if (options_.report != nullptr) {
      options_.report(Address{part.ref, row, -1}.ToString() +
                      ": the rest of the shard is left out: " + error);
    }
    return Status::OK();
  }

  /// Adds the position in the part to that of the part.
  static void AddPosition(const ShardPosition& position, nlohmann::json* cursor) {
    (*cursor)["row"] = position.row;
    if (!position.exact) return;
    (*cursor)["at"] = position.at;
    if (position.skip != 0) (*cursor)["skip"] = position.skip;
    if (position.line != 0) (*cursor)["line"] = position.line;
  }

  void StartMap() {
    auto map = std::make_unique<exec::OrderedMap<PieceTask, PieceRows>>(
        context_.pool, context_.ReadAhead(),
        [this] {
          StageTimer timer(&pull_seconds_);
          return feed_.Next();
        },
        [this](PieceTask piece) { return maker_.Make(std::move(piece), &cancelled_); });
    std::lock_guard<std::mutex> lock(mutex_);
    map_ = std::move(map);
    if (cancelled_) map_->Cancel();
  }

  Status HandleBadRows(const DecodedBlock& block, const std::shared_ptr<const ShardRef>& ref,
                       Batch* batch) {
    for (const BadRow& bad : block.bad) {
      CountDropped(&batch->dropped, {ref, row_ + bad.row}, bad.reason, 1);
      if (options_.errors.on_error == OnError::kQuarantine) {
        ARROW_RETURN_NOT_OK(
            quarantine_.Add(ref->source, ref->shard, row_ + bad.row, bad.message, bad.content));
      }
      Report(bad, ref);
    }
    return Status::OK();
  }

  /// The first ten rows are reported one by one, then each tenfold number.
  void Report(const BadRow& bad, const std::shared_ptr<const ShardRef>& ref) {
    ++reported_;
    if (options_.report == nullptr) return;
    if (reported_ > 10 && reported_ != next_report_) return;
    if (reported_ >= 10) next_report_ = reported_ * 10;
    std::string text = Address{ref, row_ + bad.row, -1}.ToString() + ": left out: " + Text(bad);
    if (reported_ >= 10) {
      text += " (row number " + std::to_string(reported_) +
              " to be left out; the next report is at " + std::to_string(next_report_) + ")";
    }
    options_.report(text);
  }

  std::string Text(const BadRow& bad) const {
    if (bad.line < 0) return bad.message;
    return "line " + std::to_string(line_ + bad.line + 1) + ": " + bad.message;
  }

  Status ErrorOf(const BadRow& bad, const std::shared_ptr<const ShardRef>& ref) const {
    return RowError({ref, row_ + bad.row, -1}, Text(bad) + kAdvice);
  }

  const std::shared_ptr<const Source> source_;
  const SourceStageOptions options_;
  const StageContext context_;
  std::atomic<bool> cancelled_{false};
  Quarantine quarantine_;

  PieceFeed feed_;  // ahead of what was handed out
  PieceMaker maker_;
  std::shared_ptr<const RowLimit> limit_;  // of what is read, where rows behind it are kept
  double pull_seconds_ = 0;

  // What was handed out.
  int64_t row_ = 0;
  int64_t line_ = 0;
  int64_t at_ = 0;  // the block that comes next, as its format numbers them
  int64_t rows_ = 0;
  ReadShare read_ = ReadShare::Unknown();
  int64_t reported_ = 0;
  int64_t next_report_ = 0;
  Cursor cursor_;
  Status pending_;  // comes out with the next call

  std::mutex mutex_;  // guards map_ against Cancel()
  // Last: its destructor waits for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<PieceTask, PieceRows>> map_;
};

}  // namespace

std::unique_ptr<Stage> MakeReadOrderStage(std::shared_ptr<const Source> source,
                                          const SourceStageOptions& options,
                                          std::unique_ptr<ReadOrder> order,
                                          std::shared_ptr<arrow::Schema> schema,
                                          const StageContext& context) {
  return std::make_unique<ReadOrderStage>(std::move(source), options, std::move(order),
                                          std::move(schema), context);
}

}  // namespace easydata::source
