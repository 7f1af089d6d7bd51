#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

namespace easydata {

/// Reports failure of every function of the engine: no exception crosses a module.
using Status = arrow::Status;

/// A value or the Status that says why there is none.
template <typename T>
using Result = arrow::Result<T>;

}  // namespace easydata
