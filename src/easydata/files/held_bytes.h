#pragma once

#include <arrow/buffer.h>

#include <cstdint>
#include <memory>

namespace easydata::files {

/// Bytes that are held back until they were checked: up to `kMost` of them, and `kMostOfProcess` of
/// a process. Thread-compatible.
class HeldBytes {
 public:
  static constexpr int64_t kMost = int64_t{64} << 20;
  static constexpr int64_t kMostOfProcess = int64_t{256} << 20;

  HeldBytes() = default;
  ~HeldBytes();
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  /// Memory for `size` more bytes, to be followed by Add(); null, and 0 bytes, where as many are
  /// held as may be, or there is no memory.
  uint8_t* Reserve(int64_t* size);
  /// Holds the first `bytes` that were written there.
  void Add(int64_t bytes) { end_ += bytes; }

  /// How many are held.
  int64_t size() const { return end_ - begin_; }
  /// Hands out up to `size` of them; how many.
  int64_t Take(int64_t size, uint8_t* out);
  /// Drops them, and their memory.
  void Clear();

 private:
  bool Grow();

  std::unique_ptr<arrow::ResizableBuffer> bytes_;
  int64_t begin_ = 0, end_ = 0;
};

}  // namespace easydata::files
