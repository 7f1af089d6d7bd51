#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "easydata/base/fault_point.h"

namespace easydata {

/// Frees what MakeAlignedArray made.
struct FreeAligned {
  void operator()(void* memory) const { std::free(memory); }
};

/// Plain values that start at a cache line and are not initialized: pages that are not written to
/// take no memory.
template <typename T>
using AlignedArray = std::unique_ptr<T[], FreeAligned>;

/// Throws std::bad_alloc.
template <typename T>
AlignedArray<T> MakeAlignedArray(size_t count) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  constexpr size_t kLine = 64;
  const size_t bytes = (count * sizeof(T) + kLine - 1) / kLine * kLine;
  if (FaultAt(FaultKind::kAllocate, "values") != 0) throw std::bad_alloc();
  void* const memory = std::aligned_alloc(kLine, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return AlignedArray<T>(static_cast<T*>(memory));
}

}  // namespace easydata
