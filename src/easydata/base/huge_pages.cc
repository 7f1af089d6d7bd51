#include "easydata/base/huge_pages.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace easydata {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

void* AllocateOnHugePages(size_t bytes) {
  const size_t alignment = bytes > kHugePage / 2 ? kHugePage : kCacheLine;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage) madvise(memory, rounded, MADV_HUGEPAGE);  // failing is no harm
#endif
  return memory;
}

}  // namespace easydata
