#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "easydata/jinja/render_error.h"

#if defined(__SANITIZE_ADDRESS__)
#define EASYDATA_GUARDS_ARENAS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EASYDATA_GUARDS_ARENAS 1
#endif
#endif
#ifdef EASYDATA_GUARDS_ARENAS
#include <sanitizer/asan_interface.h>
#endif

namespace easydata::jinja {

/// Owns what one rendering makes: memory that is given back all at once.
class Arena {
 public:
  explicit Arena(size_t limit = size_t{256} << 20) : limit_(limit) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// `bytes` bytes, aligned for any value. Throws RenderError beyond the limit.
  char* Allocate(size_t bytes) {
    const size_t gap = (-reinterpret_cast<uintptr_t>(next_) & 7) + kGuardBytes;
    if (bytes + gap > static_cast<size_t>(end_ - next_)) {
      Grow(bytes);
    } else {
      next_ += gap;
    }
    char* made = next_;
    next_ += bytes;
    Allow(made, bytes);
    return made;
  }

  /// Makes what was allocated last, and ends at `end`, longer by `bytes`; false where it cannot.
  bool Extend(const char* end, size_t bytes) {
    if (end != next_ || bytes > static_cast<size_t>(end_ - next_)) return false;
    Allow(next_, bytes);
    next_ += bytes;
    return true;
  }

  template <typename T>
  T* Array(size_t count) {
    return reinterpret_cast<T*>(Allocate(count * sizeof(T)));
  }

  template <typename T>
  T* New(const T& value) {
    return new (Allocate(sizeof(T))) T(value);
  }

  /// A copy of `text`.
  std::string_view Copy(std::string_view text) {
    char* made = Allocate(text.size());
    if (!text.empty()) std::memcpy(made, text.data(), text.size());
    return {made, text.size()};
  }

  /// The memory that it has taken.
  size_t bytes_held() const { return used_; }

  /// Forgets all that was made. Memory up to `keep` bytes stays for the next rendering.
  void Reset(size_t keep = size_t{1} << 20) {
    while (blocks_.size() > 1 || (blocks_.size() == 1 && blocks_[0].bytes > keep)) {
      blocks_.pop_back();
    }
    used_ = blocks_.empty() ? 0 : blocks_[0].bytes;
    next_ = blocks_.empty() ? nullptr : blocks_[0].memory.get();
    end_ = blocks_.empty() ? nullptr : next_ + blocks_[0].bytes;
    Forbid(next_, used_);
  }

 private:
  struct MemoryBlock {
    std::unique_ptr<char[]> memory;
    size_t bytes;
  };

  void Grow(size_t bytes) {
    const size_t size = bytes > kBlockBytes ? bytes : kBlockBytes;
    if (size > limit_ - used_ || bytes > limit_) {
      FailBound("it needs more than " + std::to_string(limit_ >> 20) + " MB of memory");
    }
    blocks_.push_back({std::unique_ptr<char[]>(new char[size]), size});
    used_ += size;
    next_ = blocks_.back().memory.get();
    end_ = next_ + size;
    Forbid(next_, size);
  }

  // AddressSanitizer does not know pieces of a block by itself: it is told which bytes are given
  // out, and that those between pieces are nobody's.
#ifdef EASYDATA_GUARDS_ARENAS
  static constexpr size_t kGuardBytes = 16;
  static void Allow(const char* begin, size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(begin, bytes); }
  static void Forbid(const char* begin, size_t bytes) { ASAN_POISON_MEMORY_REGION(begin, bytes); }
#else
  static constexpr size_t kGuardBytes = 0;
  static void Allow(const char*, size_t) {}
  static void Forbid(const char*, size_t) {}
#endif

  static constexpr size_t kBlockBytes = size_t{64} << 10;

  const size_t limit_;
  size_t used_ = 0;
  char* next_ = nullptr;
  char* end_ = nullptr;
  std::vector<MemoryBlock> blocks_ = {};
};

}  // namespace easydata::jinja
