#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>

#include "easydata/base/status.h"

namespace easydata {

/// Hands out large buffers and takes them back when their last owner drops them: fresh memory from
/// the system costs a page fault every 4 KiB. Thread-safe; buffers may outlive the pool.
class SlabPool {
 public:
  /// Keeps at most `max_kept` unused buffers.
  explicit SlabPool(int max_kept = 8);

  /// A buffer of `size` bytes, aligned to 64, with whatever was in it before.
  Result<std::shared_ptr<arrow::Buffer>> Allocate(int64_t size);

 private:
  struct State;
  class Slab;
  std::shared_ptr<State> state_;
};

}  // namespace easydata
