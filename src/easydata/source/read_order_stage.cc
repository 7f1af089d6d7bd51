#include "easydata/source/read_order_stage.h"

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/base/machine_memory.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/ordered_map.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/files/file_system.h"
#include "easydata/source/quarantine.h"
#include "easydata/source/shard_error.h"
#include "easydata/source/text_check.h"
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/failing_stage.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/no_rows.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::source {
namespace {

/// Blocks with more bytes are rare: they have giant rows.
constexpr int64_t kGiantBlock = 6 << 20;

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
        source_schema_(schema),
        schema_(std::move(schema)),
        quarantine_(options.errors.path()),
        order_(std::move(order)) {
    nlohmann::json cursor;
    order_->Save(&cursor);
    if (!order_->by_block()) {  // blocks begin where they are
      start_ = ShardPosition();
      start_->row = options_.start_row;
      AddPosition(*start_, &cursor);
    }
    cursor_ = Cursor(std::move(cursor));
  }

  ~ReadOrderStage() override { Cancel(); }

  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    // A task gives all rows of its block at once.
    if (op->piecewise() != nullptr) return false;
    ARROW_ASSIGN_OR_RAISE(schema_, op->OutputSchema(schema_));
    ops_.push_back(std::move(op));
    return true;
  }

  Cursor Save() const override { return cursor_; }

  Status Restore(const nlohmann::json& cursor) override {
    ARROW_RETURN_NOT_OK(order_->Restore(cursor));
    cursor_ = Cursor(cursor);
    if (!cursor.contains("row")) return Status::OK();
    start_ = ShardPosition();
    start_->row = cursor.at("row").get<int64_t>();
    start_->at = cursor.value("at", int64_t{0});
    start_->skip = cursor.value("skip", int64_t{0});
    start_->line = cursor.value("line", int64_t{0});
    start_->exact = cursor.contains("at");
    return Status::OK();
  }

  Result<std::optional<int64_t>> NumRows() override {
    if (!gives_every_row()) return std::nullopt;
    nlohmann::json first;
    order_->Save(&first);
    int64_t rows = 0;
    ARROW_ASSIGN_OR_RAISE(const auto part, PartAt(std::numeric_limits<int64_t>::max(), &rows));
    ARROW_RETURN_NOT_OK(order_->Restore(first));
    return part.has_value() ? std::nullopt : std::optional<int64_t>(rows);
  }

  Result<bool> Seek(int64_t row) override {
    if (!gives_every_row()) return false;
    int64_t before = 0;
    ARROW_ASSIGN_OR_RAISE(const auto part, PartAt(row, &before));
    if (!part.has_value() || before > row) return false;
    nlohmann::json cursor;
    order_->Save(&cursor);
    ARROW_RETURN_NOT_OK(order_->Restore(cursor));
    start_ = ShardPosition();
    start_->row = part->from.row + row - before;
    AddPosition(*start_, &cursor);
    cursor_ = Cursor(std::move(cursor));
    return true;
  }

  void Cancel() override {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
    if (map_ != nullptr) map_->Cancel();
    if (reader_ != nullptr) reader_->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = rows_;
    stats.bytes_read = *bytes_read_;
    stats.wait_seconds["read"] = pull_seconds_;
    stats.busy_seconds = busy_.seconds();
    return stats;
  }

 private:
  /// Whether no row is left out or replaced.
  bool gives_every_row() const {
    return options_.errors.raises() && options_.start_row == 0 && AllKeepRows(ops_);
  }

  /// The part that has row `row` of the stream, and the rows before it; nothing where there are
  /// fewer rows. Where it is not known how many rows a part has, that part, and `before` is more
  /// than `row`.
  Result<std::optional<ShardPart>> PartAt(int64_t row, int64_t* before) {
    for (;;) {
      if (cancelled_) return Status::Cancelled("the stream was closed");
      ARROW_ASSIGN_OR_RAISE(auto part, order_->Next());
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

  /// A part of a shard that is read, and the cursor of the order there.
  struct OpenPart {
    std::shared_ptr<const ShardRef> ref;
    nlohmann::json cursor;
    bool has_relative_rows;
    size_t shard;
    bool is_opened = false;
    /// Set by the consumer: nothing more of it is wanted.
    mutable std::atomic<bool> is_lost = false;
  };
  struct Item {
    std::shared_ptr<const OpenPart> part;
    std::optional<ShardPosition> start;  // of the part's first task: where its reader begins
    BlockTask task;
  };
  struct Done {
    std::shared_ptr<const OpenPart> part;
    std::optional<ShardPosition> start;
    int64_t next_at;
    int64_t next_skip;
    DecodedBlock block;
    Batch batch;
    Status op_error;
  };

  Result<std::optional<Batch>> DoNext() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    ARROW_RETURN_NOT_OK(pending_);
    if (map_ == nullptr) StartMap();
    std::optional<Done> next;
    do {
      ARROW_ASSIGN_OR_RAISE(next, map_->Next());
      if (!next.has_value()) return std::nullopt;
    } while (next->part->is_lost);  // what was read of it behind the block that could not be
    Done& done = *next;
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
    } else if (IsLost(done.block.broken)) {
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
    cursor_ = Cursor::Of([part = done.part, position] {
      nlohmann::json cursor = part->cursor;
      AddPosition(position, &cursor);
      return cursor;
    });
    rows_ += done.batch.num_rows();
    return std::move(done.batch);
  }

  /// Whether an error is about a shard that may be left out.
  bool IsLost(const Status& error) const {
    return options_.errors.on_missing != OnError::kRaise && IsOfLostShard(error);
  }

  /// Counts and reports what is left of a shard behind the rows of a block.
  Status LeaveShardOut(Done* done) {
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
    auto map = std::make_unique<exec::OrderedMap<Item, Done>>(
        context_.pool, context_.ReadAhead(), [this] { return Pull(); },
        [this](Item item) { return Work(std::move(item)); });
    std::lock_guard<std::mutex> lock(mutex_);
    map_ = std::move(map);
    if (cancelled_) map_->Cancel();
  }

  Result<std::optional<Item>> Pull() {
    StageTimer timer(&pull_seconds_);
    // Opening a file may wait for a server.
    const exec::StopScope stopping(&cancelled_);
    if (broken_off_) return std::nullopt;
    for (;;) {
      std::optional<ShardPosition> start;
      if (reader_ != nullptr && part_->is_lost) DropReader();
      if (reader_ == nullptr) {
        ARROW_ASSIGN_OR_RAISE(auto part, order_->Next());
        if (!part.has_value()) return std::nullopt;
        ShardPosition from = part->from;
        if (start_.has_value()) from = *std::exchange(start_, std::nullopt);
        auto opened = OpenReader(*part, from);
        if (IsLost(opened.status())) return Failing(opened.status(), from);
        ARROW_RETURN_NOT_OK(opened.status());
        start = *opened;
      }
      auto task = exec::CatchExceptions([this] { return reader_->Next(); });
      if (task.status().IsCancelled()) return task.status();
      if (task.ok() && task->has_value()) return Item{part_, start, std::move(**task)};
      DropReader();
      if (task.ok()) continue;
      // A block that cannot be read: the consumer knows its row.
      if (!IsLost(task.status())) broken_off_ = true;
      return Failing(task.status(), start);
    }
  }

  void DropReader() {
    std::lock_guard<std::mutex> lock(mutex_);
    reader_.reset();
  }

  /// A block that cannot be read.
  Item Failing(const Status& error, std::optional<ShardPosition> start) const {
    BlockTask broken;
    broken.decode = [error]() -> Result<DecodedBlock> { return error; };
    return Item{part_, start, std::move(broken)};
  }

  Result<ShardPosition> OpenReader(const ShardPart& part, const ShardPosition& from) {
    auto open = std::make_shared<OpenPart>();
    open->ref = std::make_shared<const ShardRef>(ShardRef{options_.name, part.name});
    order_->Save(&open->cursor);
    open->has_relative_rows = part.has_relative_rows;
    open->shard = part.shard;
    part_ = open;
    ReadContext context{context_.pool, [bytes = bytes_read_](int64_t n) { *bytes += n; }};
    const ReadOptions read_options{options_.columns, options_.errors.on_error, part.end_at};
    auto reader = exec::CatchExceptions(
        [&] { return source_->Open(part.shard, from, read_options, source_schema_, context); });
    if (!reader.ok()) return ShardError(reader.status(), part_->ref, std::nullopt);
    auto first = exec::CatchExceptions([&] { return (*reader)->Start(); });
    if (!first.ok()) return ShardError(first.status(), part_->ref, std::nullopt);
    open->is_opened = true;
    std::lock_guard<std::mutex> lock(mutex_);
    reader_ = std::move(*reader);
    if (cancelled_) reader_->Cancel();
    return first;
  }

  /// Runs on the pool: decodes a block and applies the ops to it.
  Result<Done> Work(Item item) {
    const auto begin = std::chrono::steady_clock::now();
    Done done{item.part, item.start, item.task.next_at, item.task.next_skip, {}, {}, {}};
    auto block = exec::CatchExceptions([&]() -> Result<DecodedBlock> {
      ARROW_ASSIGN_OR_RAISE(DecodedBlock decoded, item.task.decode());
      if (source_->has_unchecked_text()) {
        ARROW_RETURN_NOT_OK(CheckText(options_.errors.on_error, &decoded));
      }
      return decoded;
    });
    // The rows' addresses are not known here: the consumer adds them.
    if (!block.ok()) {
      done.block.broken = block.status();
      ARROW_ASSIGN_OR_RAISE(done.batch.rows, NoRows(source_schema_));
    } else {
      done.block = std::move(*block);
      done.batch.rows = std::move(done.block.rows);
      for (const auto& [first, count] : done.block.runs) {
        done.batch.addresses.Append(item.part->ref, first, -1, count);
      }
    }
    busy_.Add("read", std::chrono::steady_clock::now() - begin);
    const bool is_giant = arrow::util::TotalBufferSize(*done.batch.rows) > kGiantBlock;
    AppliedBatch applied = ApplyOps(ops_, std::move(done.batch), &busy_);
    if (is_giant) ReturnFreeMemory();
    done.batch = std::move(applied.batch);
    done.op_error = std::move(applied.error);
    return done;
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
  const std::shared_ptr<arrow::Schema> source_schema_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<const BatchOp>> ops_;
  std::shared_ptr<std::atomic<int64_t>> bytes_read_ = std::make_shared<std::atomic<int64_t>>(0);
  BusyTimes busy_;
  std::atomic<bool> cancelled_{false};
  Quarantine quarantine_;

  // What was pulled: ahead of what was handed out.
  const std::unique_ptr<ReadOrder> order_;
  std::optional<ShardPosition> start_;  // in the first part; taken by its reader
  std::shared_ptr<const OpenPart> part_;
  double pull_seconds_ = 0;
  std::unique_ptr<ShardReader> reader_;
  bool broken_off_ = false;  // an error is the last that was pulled

  // What was handed out.
  int64_t row_ = 0;
  int64_t line_ = 0;
  int64_t at_ = 0;  // the block that comes next, as its format numbers them
  int64_t rows_ = 0;
  int64_t reported_ = 0;
  int64_t next_report_ = 0;
  Cursor cursor_;
  Status pending_;  // comes out with the next call

  std::mutex mutex_;  // guards map_ and reader_ against Cancel()
  // Last: its destructor waits for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<Item, Done>> map_;
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
