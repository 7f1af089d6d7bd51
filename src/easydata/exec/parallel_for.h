#pragma once

#include <cstddef>
#include <functional>

namespace easydata {

/// Calls work(0), ..., work(count - 1) on up to `num_threads` threads, the calling one among them.
/// A call that returns false keeps those that have not begun from being made. The other threads
/// last as long as this call.
void ParallelFor(size_t count, int num_threads, const std::function<bool(size_t)>& work);

}  // namespace easydata
