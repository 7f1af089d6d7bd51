#include "easydata/cache/block_writer.h"

#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/start_thread.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/work_gate.h"

namespace easydata::cache {
namespace {

/// How often it is asked whether others wait for blocks of a file that is not complete.
constexpr std::chrono::milliseconds kAsk{20};

/// Whether nothing can be written, however long one waits.
bool IsForGood(const Status& status) {
  const int error = arrow::internal::ErrnoFromStatus(status);
  return error == EROFS || error == EACCES || error == EPERM || error == ENOTDIR;
}

}  // namespace

BlockWriter::BlockWriter(StoreFolder* folder, const BlockWriterOptions& options, Listener listener)
    : folder_(folder), options_(options), listener_(std::move(listener)) {}

BlockWriter::~BlockWriter() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  const exec::WaitScope waiting;
  thread_.join();
}

/// Whether a block may be put; with the lock.
bool BlockWriter::HasRoom(int64_t bytes) const {
  if (is_off_ || Clock::now() < off_until_) return false;
  return queued_bytes_ + bytes <= options_.queue_bytes;
}

bool BlockWriter::Put(const BlockKey& key, SizedBlock block) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!HasRoom(block.bytes)) return false;
  }
  auto encoded =
      exec::CatchExceptions([&] { return EncodeBlock(block.block, options_.compression); });
  if (!encoded.ok()) return false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!HasRoom(block.bytes)) return false;
    if (!thread_.joinable()) {
      try {
        thread_ = exec::StartThread("easydata-cache", [this] { Run(); });
      } catch (const std::system_error&) {
        return false;  // the system gives no thread now
      }
    }
    queued_bytes_ += block.bytes;
    unpublished_[key] = block.block.facts;
    queue_.push_back({key, std::move(block), *std::move(encoded)});
    ++num_put_;
    last_put_ = Clock::now();
  }
  changed_.notify_all();
  return true;
}

std::optional<SizedBlock> BlockWriter::Waiting(const BlockKey& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!unpublished_.contains(key)) return std::nullopt;
  for (const Task& task : queue_) {
    if (task.key == key) return task.block;
  }
  return std::nullopt;
}

std::optional<std::string> BlockWriter::Facts(const BlockKey& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto facts = unpublished_.find(key);
  if (facts == unpublished_.end()) return std::nullopt;
  return facts->second;
}

Status BlockWriter::Flush() {
  const exec::WaitScope waiting;
  std::unique_lock<std::mutex> lock(mutex_);
  const int64_t target = num_put_;
  flush_to_ = std::max(flush_to_, target);
  changed_.notify_all();
  if (exec::StopScope::Await(&changed_, &lock, [&] { return num_done_ >= target; })) {
    return Status::OK();
  }
  return Status::Cancelled("writing the cache was not waited for");
}

bool BlockWriter::HasWork() const {
  return !queue_.empty() || stops_ || (!in_file_.empty() && flush_to_ > num_done_);
}

void BlockWriter::Run() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (in_file_.empty()) {
        changed_.wait(lock, [&] { return HasWork(); });
      } else {
        changed_.wait_for(lock, kAsk, [&] { return HasWork(); });
      }
      if (stops_ && queue_.empty() && in_file_.empty()) break;
    }
    exec::WorkScope working;
    const Status status = exec::CatchExceptions([&] {
      Step();
      return Status::OK();
    });
    if (!status.ok()) Abandon(status);
  }
  exec::WorkScope::UpToThreadEnd();
}

void BlockWriter::Step() {
  std::optional<Task> task;
  bool is_complete = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!queue_.empty()) {
      // It stays in the queue, where it is found, until it is in a file.
      task = queue_.front();
    } else {
      is_complete = stops_ || Clock::now() - last_put_ >= options_.idle;
    }
  }
  if (task.has_value()) Write(*std::move(task));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_complete |= flush_to_ > num_done_ && num_taken_ >= flush_to_;
  }
  if (in_file_.empty()) return;
  if (is_complete || writer_->bytes() >= options_.file_bytes || IsAnyWanted()) Publish();
}

bool BlockWriter::IsAnyWanted() const {
  return std::any_of(in_file_.begin(), in_file_.end(), listener_.is_wanted);
}

void BlockWriter::Write(Task task) {
  const Status status = exec::CatchExceptions([&]() -> Status {
    if (file_ == nullptr) {
      ARROW_ASSIGN_OR_RAISE(file_, folder_->Begin());
      file_->file()->SkipHash();  // each part of a block has its own
      writer_ = std::make_unique<TokenFileWriter>(file_->file(), options_.compression);
    }
    return writer_->Add(task.key, *task.encoded);
  });
  // Nothing was written of a block that a file cannot hold: others go on.
  const bool is_refused = status.IsNotImplemented() && writer_ != nullptr;
  if (!is_refused) in_file_.push_back(task.key);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_refused) {
      unpublished_.erase(task.key);
      ++num_done_;
    }
    queued_bytes_ -= task.block.bytes;
    queue_.pop_front();
    ++num_taken_;
  }
  if (!is_refused) {
    if (!status.ok()) Abandon(status);
    return;
  }
  listener_.dropped(task.key);
  listener_.done(task.key);
  changed_.notify_all();
}

void BlockWriter::Publish() {
  IndexedFile as;
  const Status status = exec::CatchExceptions([&]() -> Status {
    ARROW_ASSIGN_OR_RAISE(as.blocks, writer_->Finish());
    as.name = NameOfBlocks(as.blocks);
    as.bytes = file_->file()->size();
    return file_->Publish(as);
  });
  if (!status.ok()) return Abandon(status);
  writer_.reset();
  file_.reset();
  listener_.published(as);
  const std::vector<BlockKey> done = std::move(in_file_);
  in_file_.clear();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const BlockKey& key : done) unpublished_.erase(key);
    num_done_ += static_cast<int64_t>(done.size());
  }
  for (const BlockKey& key : done) listener_.done(key);
  changed_.notify_all();
}

/// Drops what the file has and what waits for it: the disk is full, or worse.
void BlockWriter::Abandon(const Status& why) {
  writer_.reset();
  file_.reset();
  std::vector<BlockKey> lost = std::move(in_file_);
  in_file_.clear();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // A folder that somebody removed is made anew.
    if (arrow::internal::ErrnoFromStatus(why) != ENOENT) {
      is_off_ |= IsForGood(why);
      off_until_ = Clock::now() + options_.pause;
      for (const Task& task : queue_) lost.push_back(task.key);
      num_taken_ += static_cast<int64_t>(queue_.size());
      queue_.clear();
      queued_bytes_ = 0;
    }
    for (const BlockKey& key : lost) unpublished_.erase(key);
    num_done_ += static_cast<int64_t>(lost.size());
  }
  for (const BlockKey& key : lost) {
    listener_.dropped(key);
    listener_.done(key);
  }
  changed_.notify_all();
  if (!std::exchange(has_failed_, true)) listener_.failed(why);
}

}  // namespace easydata::cache
