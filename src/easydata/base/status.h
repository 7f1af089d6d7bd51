#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

namespace easydata {

/// How every function of the engine reports failure: no exception crosses a module.
using Status = arrow::Status;

/// A value or the Status that says why there is none.
template <typename T>
using Result = arrow::Result<T>;

}  // namespace easydata
