#include "easydata/files/fetched_ranges.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <utility>

#include "easydata/base/byte_limit.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/exec/thread_pool.h"
#include "easydata/exec/work_gate.h"
#include "easydata/files/file_system.h"
#include "easydata/files/range_memory.h"

namespace easydata::files {
namespace {

constexpr int kFetchesAtOnce = 8;

ByteLimit fetched_limit(FetchedRanges::kMostOfProcess);

/// Takes bytes of the process's share, as long as it lives.
class FetchedBytes {
 public:
  static std::unique_ptr<FetchedBytes> Take(int64_t bytes) {
    if (!fetched_limit.Take(bytes)) return nullptr;
    return std::unique_ptr<FetchedBytes>(new FetchedBytes(bytes));
  }
  ~FetchedBytes() { fetched_limit.GiveBack(bytes_); }
  FetchedBytes(const FetchedBytes&) = delete;
  FetchedBytes& operator=(const FetchedBytes&) = delete;

 private:
  explicit FetchedBytes(int64_t bytes) : bytes_(bytes) {}
  const int64_t bytes_;
};

/// Threads that wait for servers, while there is something to fetch.
exec::ThreadPool* FetchPool() {
  // As long as the process: what it runs may outlast all files.
  static auto* const pool = new exec::ThreadPool(kFetchesAtOnce, exec::ThreadPool::Idle::kEnds);
  return pool;
}

}  // namespace

struct FetchedRanges::Range {
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t forks = 0;
  std::unique_ptr<FetchedBytes> share;
  std::atomic<bool> is_unwanted = false;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::shared_ptr<arrow::Buffer> buffer;  // null where there is none
  Status failed;                          // why, where that is about the file
};

FetchedRanges::~FetchedRanges() { Forget(); }

void FetchedRanges::Forget() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& range : ranges_) range->is_unwanted = true;
  ranges_.clear();
  bytes_ = 0;
}

void FetchedRanges::MakeRoom(int64_t bytes) {
  while (!ranges_.empty() && bytes_ + bytes > kMostOfFile) {
    const auto& oldest = ranges_.front();
    oldest->is_unwanted = true;
    bytes_ -= oldest->end - oldest->begin;
    ranges_.pop_front();
  }
}

void FetchedRanges::Announce(const std::vector<arrow::io::ReadRange>& ranges) {
  for (const arrow::io::ReadRange& wanted : ranges) {
    auto range = std::make_shared<Range>();
    range->begin = wanted.offset;
    range->end = wanted.offset + wanted.length;
    range->forks = exec::NumForks();
    if (wanted.length <= 0 || wanted.length > kMostOfFile) continue;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      const bool is_known = std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& known) {
        return known->begin <= range->begin && range->end <= known->end &&
               known->forks == range->forks;
      });
      if (is_known) continue;
      MakeRoom(wanted.length);
      range->share = FetchedBytes::Take(wanted.length);
      if (range->share == nullptr) return;
      ranges_.push_back(range);
      bytes_ += wanted.length;
    }
    FetchPool()->Submit([range, fetch = fetch_] {
      std::shared_ptr<arrow::Buffer> buffer;
      Status status;
      if (!range->is_unwanted) {
        exec::StopScope stopping(&range->is_unwanted);
        status = exec::CatchExceptions([&]() -> Status {
          const int64_t size = range->end - range->begin;
          ARROW_ASSIGN_OR_RAISE(auto memory, TakeRangeMemory(size));
          ARROW_RETURN_NOT_OK(fetch(range->begin, size, memory->mutable_data()));
          buffer = std::move(memory);
          return Status::OK();
        });
        if (!status.ok()) buffer = nullptr;
      }
      std::lock_guard<std::mutex> lock(range->mutex);
      range->buffer = std::move(buffer);
      // What was patient already is not to be patient once more. For want of memory, whoever needs
      // the part asks for it himself.
      if (IsFileError(status)) range->failed = std::move(status);
      range->is_done = true;
      range->changed.notify_all();
    });
  }
}

Result<std::shared_ptr<arrow::Buffer>> FetchedRanges::Find(int64_t position, int64_t* next) {
  std::shared_ptr<Range> found;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    // Threads that fetched for the parent of a forked process are not here.
    for (const auto& range : ranges_) {
      if (range->forks != exec::NumForks()) continue;
      if (range->begin <= position && position < range->end) found = range;
      if (range->begin > position) *next = std::min(*next, range->begin);
    }
  }
  if (found == nullptr) return nullptr;
  std::shared_ptr<arrow::Buffer> buffer;
  Status failed;
  {
    exec::WaitScope waiting;
    std::unique_lock<std::mutex> lock(found->mutex);
    if (!exec::StopScope::Await(&found->changed, &lock, [&] { return found->is_done; })) {
      return Status::Cancelled("reading was stopped");
    }
    buffer = found->buffer;
    failed = found->failed;
  }
  if (buffer != nullptr) return arrow::SliceBuffer(buffer, position - found->begin);
  std::lock_guard<std::mutex> lock(mutex_);
  const auto listed = std::find(ranges_.begin(), ranges_.end(), found);
  if (listed != ranges_.end()) {
    bytes_ -= found->end - found->begin;
    ranges_.erase(listed);
  }
  ARROW_RETURN_NOT_OK(failed);
  return nullptr;
}

}  // namespace easydata::files
