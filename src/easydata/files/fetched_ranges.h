#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::files {

/// Parts of a file that were asked for before they are read: fetched by threads of their own, kept
/// until others take their place. Thread-safe.
///
/// A file keeps up to `kMostOfFile` bytes, a process `kMostOfProcess`: beyond that nothing is
/// fetched ahead. Where fetching failed, the one who finds that part gets the error.
class FetchedRanges {
 public:
  static constexpr int64_t kMostOfFile = int64_t{64} << 20;
  static constexpr int64_t kMostOfProcess = int64_t{256} << 20;

  /// Reads `size` bytes from byte `position` on, all of them.
  using Fetch = std::function<Status(int64_t position, int64_t size, void* out)>;

  /// `fetch` may be called after this is gone.
  explicit FetchedRanges(Fetch fetch) : fetch_(std::move(fetch)) {}
  ~FetchedRanges();
  FetchedRanges(const FetchedRanges&) = delete;
  FetchedRanges& operator=(const FetchedRanges&) = delete;

  /// Begins to fetch those of the ranges that are not known yet, in their order.
  void Announce(const std::vector<arrow::io::ReadRange>& ranges);

  /// The part of a range that is known: its buffer, beginning at `position`, waited for. Null where
  /// the byte is not known; `next` is set to the first known one after it. Cancelled where waiting
  /// was interrupted.
  Result<std::shared_ptr<arrow::Buffer>> Find(int64_t position, int64_t* next);

  /// Forgets all that is known: it is to be read anew.
  void Forget();

 private:
  struct Range;

  void MakeRoom(int64_t bytes);

  const Fetch fetch_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Range>> ranges_;  // the latest last
  int64_t bytes_ = 0;
};

}  // namespace easydata::files
