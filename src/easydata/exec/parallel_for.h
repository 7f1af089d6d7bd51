#pragma once

#include <cstddef>
#include <functional>

#include "easydata/base/status.h"

namespace easydata::exec {

/// Calls work(0), ..., work(count - 1) on up to `num_threads` threads, the calling one among them,
/// or on fewer where the system gives no more. The other threads last as long as this call.
///
/// An error, or an exception, keeps calls that have not begun from starting; the one of the lowest
/// number is returned.
Status ParallelFor(size_t count, int num_threads, const std::function<Status(size_t)>& work);

}  // namespace easydata::exec
