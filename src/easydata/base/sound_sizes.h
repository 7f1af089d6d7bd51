#pragma once

#include <arrow/memory_pool.h>

#include <cstdint>
#include <string>

#include "easydata/base/status.h"

namespace easydata {

/// Arrow's default memory pool, but it refuses what no sound file asks for: a damaged length is an
/// error of the file, not of the machine's memory.
class SoundSizes : public arrow::MemoryPool {
 public:
  /// While it lives, this thread's allocations are limited.
  class Limit {
   public:
    explicit Limit(int64_t bytes);
    ~Limit();
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;
  };

  /// Lives as long as the process, as batches in its memory may.
  static SoundSizes* Get();

  Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** ptr) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override {
    pool_->Free(buffer, size, alignment);
  }
  int64_t bytes_allocated() const override { return pool_->bytes_allocated(); }
  int64_t total_bytes_allocated() const override { return pool_->total_bytes_allocated(); }
  int64_t num_allocations() const override { return pool_->num_allocations(); }
  std::string backend_name() const override { return pool_->backend_name(); }

 private:
  arrow::MemoryPool* const pool_ = arrow::default_memory_pool();
};

}  // namespace easydata
