#pragma once

#include <arrow/type_fwd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "easydata/base/aligned_array.h"
#include "easydata/base/status.h"

namespace easydata::tokenizers {

/// Ids that grow at the end; room past the end is reserved before it is written.
class IdBuffer {
 public:
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  int32_t* data() { return data_.get(); }
  const int32_t* data() const { return data_.get(); }

  /// Room for `count` more ids after the last; valid until the next call.
  int32_t* Reserve(size_t count) {
    if (size_ + count > capacity_) Grow(size_ + count);
    return data_.get() + size_;
  }
  void Resize(size_t size) { size_ = size; }
  void Append(int32_t id) {
    *Reserve(1) = id;
    ++size_;
  }
  void Append(const int32_t* ids, size_t count) {
    std::copy_n(ids, count, Reserve(count));
    size_ += count;
  }
  void Append(const std::vector<int32_t>& ids) { Append(ids.data(), ids.size()); }

 private:
  void Grow(size_t capacity);

  AlignedArray<int32_t> data_;  // aligned as Arrow likes it
  size_t size_ = 0;
  size_t capacity_ = 0;
};

/// Lends the memory of IdBuffers to Arrow and takes it back when Arrow frees it: memory that was
/// written before costs no page faults. Thread-safe; lives until its last buffer is gone.
class IdBufferPool : public std::enable_shared_from_this<IdBufferPool> {
 public:
  /// Turns `*ids` into an Arrow buffer and empties it for the next use. Ids that would hold on to
  /// much more memory than they fill are copied instead.
  Result<std::shared_ptr<arrow::Buffer>> Release(IdBuffer* ids);

  /// Returned memory, or none: the least that has room for `count` ids, or else the most.
  IdBuffer Take(size_t count);

  /// Keeps memory for the next Take.
  void Return(IdBuffer ids);

 private:
  class Lent;

  // What is kept for reuse; what comes back beyond that is freed.
  static constexpr size_t kMaxIdle = 16;
  static constexpr size_t kMaxIdleIds = (size_t{64} << 20) / sizeof(int32_t);

  std::mutex mutex_;
  std::vector<IdBuffer> idle_;  // by capacity
  size_t num_idle_ids_ = 0;     // room for so many
};

}  // namespace easydata::tokenizers
