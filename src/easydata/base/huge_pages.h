#pragma once

#include <cstddef>

namespace easydata {

/// At least `bytes` bytes, for std::free, on huge pages where the system gives them: one page fault
/// for 2 MiB rather than for 4 KiB, and one entry of the processor's table of pages. What is half a
/// huge page or smaller is aligned to a cache line only. Throws std::bad_alloc.
void* AllocateOnHugePages(size_t bytes);

}  // namespace easydata
