#pragma once

#include <arrow/io/type_fwd.h>

#include <memory>
#include <string>

#include "easydata/base/status.h"

namespace easydata {

/// Opens a local file whose longer ranges are read without a copy: ReadAt() gives a view of the
/// page cache that lasts as long as its buffer, so that memory does not grow with the file. For
/// formats whose memory is what the file holds.
///
/// A range that the file no longer has is an IOError; a file that is cut short while a buffer of it
/// is in use ends the process (SIGBUS), as with every mapped file.
Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenMappedFile(const std::string& path);

}  // namespace easydata
