#pragma once

#include <atomic>
#include <cstdint>

namespace easydata {

/// How much memory a process takes for one purpose, at most. Thread-safe.
class ByteLimit {
 public:
  constexpr explicit ByteLimit(int64_t most) : most_(most) {}

  /// Takes bytes; false, and takes none, where they would be too many.
  bool Take(int64_t bytes) {
    if (taken_.fetch_add(bytes) + bytes <= most_) return true;
    taken_ -= bytes;
    return false;
  }
  void GiveBack(int64_t bytes) { taken_ -= bytes; }

 private:
  const int64_t most_;
  std::atomic<int64_t> taken_{0};
};

}  // namespace easydata
