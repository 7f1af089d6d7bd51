#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/cache/memory_blocks.h"
#include "easydata/cache/store_folder.h"
#include "easydata/cache/token_file.h"

namespace easydata::cache {

struct BlockWriterOptions {
  Compression compression = Compression::kNone;
  int64_t file_bytes = 0;
  int64_t queue_bytes = 0;
  /// A file is complete when nothing was put for so long.
  std::chrono::milliseconds idle{2000};
  /// How long nothing is written after a disk was full.
  std::chrono::milliseconds pause{30'000};
};

/// Writes blocks into token files, on a thread that starts with the first of them and ends in the
/// destructor, which writes what waits. Thread-safe.
class BlockWriter {
 public:
  /// Who hears what becomes of blocks; called on the writer's thread.
  struct Listener {
    /// Blocks are in a file that has its name.
    std::function<void(const IndexedFile&)> published;
    /// Of a block nothing is kept.
    std::function<void(const BlockKey&)> dropped;
    /// Of a block nobody need ask this writer any more.
    std::function<void(const BlockKey&)> done;
    std::function<bool(const BlockKey&)> is_wanted;
    /// The first thing that went wrong.
    std::function<void(const Status&)> failed;
  };

  BlockWriter(StoreFolder* folder, const BlockWriterOptions& options, Listener listener);
  ~BlockWriter();
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;

  /// Takes a block; false where there is no room for it, no file can hold it, or nothing is written
  /// now. Encodes it on the caller's thread, which has it in its processor's cache.
  bool Put(const BlockKey& key, SizedBlock block);
  /// A block that waits to be written.
  std::optional<SizedBlock> Waiting(const BlockKey& key) const;
  /// KeptBlock::facts of one that is not published yet.
  std::optional<std::string> Facts(const BlockKey& key) const;
  /// Waits until what was put so far is published or dropped; Cancelled where that is not wanted
  /// any more.
  Status Flush();

 private:
  using Clock = std::chrono::steady_clock;

  struct Task {
    BlockKey key;
    SizedBlock block;  // as others find it until it is in a file
    std::shared_ptr<const EncodedBlock> encoded;
  };

  bool HasRoom(int64_t bytes) const;
  void Run();
  bool HasWork() const;
  void Step();
  void Write(Task task);
  void Publish();
  void Abandon(const Status& why);
  bool IsAnyWanted() const;

  StoreFolder* const folder_;
  const BlockWriterOptions options_;
  const Listener listener_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Task> queue_;
  std::map<BlockKey, std::string> unpublished_;  // facts
  int64_t queued_bytes_ = 0;
  int64_t num_put_ = 0;
  int64_t num_taken_ = 0;  // out of the queue
  int64_t num_done_ = 0;   // published or dropped
  int64_t flush_to_ = 0;
  bool stops_ = false;
  bool is_off_ = false;  // for good
  Clock::time_point off_until_;
  Clock::time_point last_put_;

  // Of the thread.
  std::unique_ptr<UnfinishedFile> file_;
  std::unique_ptr<TokenFileWriter> writer_;
  std::vector<BlockKey> in_file_;
  bool has_failed_ = false;

  std::thread thread_;
};

}  // namespace easydata::cache
