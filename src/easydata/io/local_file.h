#pragma once

#include <arrow/io/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "easydata/base/status.h"

namespace easydata {

/// Opens a file of this machine for positioned reads, which several threads may make at once
/// (pread; nothing is mapped, so that memory does not grow with the file). A directory or a missing
/// file is an IOError with errno.
Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenLocalFile(const std::string& path);

/// Bytes of a file; 0 where it cannot be told.
int64_t FileSize(const std::string& path);

}  // namespace easydata
