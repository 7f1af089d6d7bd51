#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "easydata/source/kept_pieces.h"
#include "easydata/source/piece_task.h"
#include "easydata/source/read_order.h"
#include "easydata/source/source.h"
#include "easydata/source/source_stage.h"
#include "easydata/stream/stage_context.h"

namespace easydata::source {

/// Gives the pieces of a source's shards in the order in which they are read, opening one shard
/// after the other. What is kept of whole blocks is given without opening their file. Next() is for
/// one thread, Cancel() for any.
class PieceFeed {
 public:
  PieceFeed(std::shared_ptr<const Source> source, const SourceStageOptions& options,
            std::unique_ptr<ReadOrder> order, std::shared_ptr<arrow::Schema> schema,
            const StageContext& context);

  ReadOrder* order() { return order_.get(); }
  /// Where the first part begins; before the first Next() only.
  void StartAt(const ShardPosition& position) { start_ = position; }
  /// What was made of these pieces may be kept.
  void SetKept(std::shared_ptr<KeptPieces> kept) { kept_ = std::move(kept); }
  /// Counts all blocks of the stream, and those that are kept, instead of reading them.
  Status CountKept(KeptRows* counted);

  Result<std::optional<PieceTask>> Next();
  void Cancel();

  /// Whether an error is about a shard that may be left out.
  bool IsLost(const Status& error) const;
  int64_t bytes_read() const { return *bytes_read_; }

 private:
  void MakePart(const ShardPart& part);
  Result<ShardPosition> OpenReader(const ShardPosition& from);
  void DropReader();
  PieceTask Failing(const Status& error, std::optional<ShardPosition> start) const;
  bool EnterBlocks();
  void LeaveBlocks();
  bool QueueKept(int64_t block, std::optional<ShardPosition>* start);
  void NoteEndsBefore(int64_t block);
  std::optional<PieceTask> TaskOf(BlockTask task, std::optional<ShardPosition> start);
  std::function<void(int64_t)> CountBytes() const;

  const std::shared_ptr<const Source> source_;
  const SourceStageOptions options_;
  const StageContext context_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::unique_ptr<ReadOrder> order_;
  const std::shared_ptr<std::atomic<int64_t>> bytes_read_ =
      std::make_shared<std::atomic<int64_t>>(0);
  std::optional<ShardPosition> start_;  // in the first part; taken by its reader
  std::shared_ptr<OpenPart> part_;
  std::unique_ptr<ShardReader> reader_;
  bool broken_off_ = false;  // an error is the last that was given
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;  // guards reader_ against Cancel()

  // Where pieces may be kept: the blocks of the part that are yet to come. A reader that is open
  // goes on to the part's end by itself.
  std::shared_ptr<KeptPieces> kept_;
  Blocks blocks_;
  int64_t next_block_ = 0;
  int64_t end_block_ = 0;                    // 0: nothing of the part can be kept
  std::optional<ShardPosition> part_start_;  // until the part's first task is given
  std::optional<PieceId> expected_;          // what the reader gives next, if it is there
  std::deque<PieceTask> queued_;
};

}  // namespace easydata::source
