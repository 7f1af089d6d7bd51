#include "easydata/source/source_stage.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>
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
#include "easydata/base/nearest_name.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/ordered_map.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/files/file_system.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/source/file_rules.h"
#include "easydata/source/grain_order_stage.h"
#include "easydata/source/quarantine.h"
#include "easydata/source/read_order.h"
#include "easydata/source/shard_error.h"
#include "easydata/source/text_check.h"
#include "easydata/stream/apply_ops.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/lane_rows_stage.h"
#include "easydata/stream/no_rows.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::source {
namespace {

constexpr NamedValue<OnError> kOnErrors[] = {
    {"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"quarantine", OnError::kQuarantine}};

// As they are, the rows have no mode: none is named.
constexpr NamedValue<SourceShuffle> kSourceShuffles[] = {{"blocks", SourceShuffle::kBlocks},
                                                         {"rows", SourceShuffle::kRows},
                                                         {"grain", SourceShuffle::kGrain}};

/// Blocks with more bytes are rare: they have giant rows.
constexpr int64_t kGiantBlock = 6 << 20;

constexpr const char kAdvice[] =
    "; fix it, or set on_error=\"skip\" to leave such rows out and count them";

class SourceStage : public Stage {
 public:
  SourceStage(std::shared_ptr<const Source> source, const SourceStageOptions& options,
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

  ~SourceStage() override { Cancel(); }

  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    // A task gives all rows of its block at once.
    if (op->piecewise() != nullptr) return false;
    ARROW_ASSIGN_OR_RAISE(schema_, op->OutputSchema(schema_));
    ops_.push_back(std::move(op));
    return true;
  }

  Result<std::optional<Batch>> Next() override {
    ARROW_RETURN_NOT_OK(failed_);
    auto next = DoNext();
    if (!next.ok()) failed_ = next.status();
    return next;
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

  Result<std::optional<Batch>> DoNext() {
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
      pending_ = ShardError(done.block.broken, ref, row_ + done.block.num_rows);
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
    return options_.errors.on_missing != OnError::kRaise && files::IsFileError(error);
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
  Status failed_;

  std::mutex mutex_;  // guards map_ and reader_ against Cancel()
  // Last: its destructor waits for tasks that use the members above.
  std::unique_ptr<exec::OrderedMap<Item, Done>> map_;
};

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
  auto schema = source.Schema(options.columns, shards.empty() ? 0 : shards[0]);
  if (options.errors.on_missing == OnError::kRaise || !files::IsFileError(schema.status()))
    return schema;
  for (size_t i = 1; i < shards.size(); ++i) {
    auto other = source.Schema(options.columns, shards[i]);
    if (!files::IsFileError(other.status())) return other;
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
  const bool is_shuffled = options.shuffle.mode != SourceShuffle::kNone;
  std::optional<uint64_t> seed;
  if (is_shuffled) seed = options.shuffle.seed;
  if (context.lanes > 1 && options.start_row != 0) {
    return Status::Invalid("lanes are of a source as a whole; start_row is ", options.start_row);
  }
  const auto num_shards = static_cast<int64_t>(shards.size());
  if (num_shards < context.lanes) {
    int64_t num_blocks = 0;
    for (size_t shard : shards) {
      ARROW_ASSIGN_OR_RAISE(const Blocks blocks, source->ListBlocks(shard));
      num_blocks += blocks.count;
    }
    if (num_blocks >= kLeastBlocks * context.lanes) {
      return LaneOrder{InBlockOrder(source, shards, seed, context)};
    }
    StageContext whole = context;
    whole.lane = 0;
    whole.lanes = 1;
    if (is_shuffled) return LaneOrder{InBlockOrder(source, shards, seed, whole), true};
    return LaneOrder{InShardOrder(source, shards, options.name), true};
  }
  if (is_shuffled) return LaneOrder{InBlockOrder(source, shards, seed, context)};
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
          "What happens to files that cannot be opened or read to their end, after all "
          "attempts, "
          "or that were exchanged: stop, leave out what is left of them and count it, or also "
          "list them in a file beside quarantine_path (bad.jsonl: bad.shards.jsonl)."},
      config::Field{"quarantine_path", &O::quarantine_path,
                    "JSONL file that on_error=\"quarantine\" appends bad rows to."}
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
            .ActsAt({"source"})},
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
  node->storage = source->storage();
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = [source, options, shards] { return SchemaOf(*source, options, shards); };
  if (options.shuffle.mode == SourceShuffle::kGrain) {
    if (!options.errors.raises()) {
      return Status::NotImplemented(
          "shuffle=\"grain\" needs every row in its place and cannot leave any out; use "
          "on_error=\"raise\" and on_missing=\"raise\", or shuffle \"rows\"");
    }
    plan.make = [source,
                 grain = GrainOrderOptions{options.name, options.columns, shards,
                                           options.shuffle.seed}](const StageContext& context) {
      return Timed(MakeGrainOrderStage(source, grain, context), "workers");
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
    std::unique_ptr<Stage> stage = std::make_unique<SourceStage>(
        source, of_lane, std::move(dealt.order), std::move(schema), context);
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
