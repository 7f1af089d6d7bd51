#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>
#include <arrow/util/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata {

/// A path without the suffix of a codec (.gz .zst .bz2 .lz4), in lower case: what tells the format.
std::string UncompressedName(std::string_view path);

/// The codec of a file, by its first bytes; UNCOMPRESSED where they are none's. A suffix of `name`
/// that the bytes contradict is an error, an empty file is not compressed.
Result<arrow::Compression::type> DetectCompression(arrow::io::RandomAccessFile* file,
                                                   std::string_view name);

/// Reads an open file from its start, decompressed, whatever else is read from it meanwhile.
///
/// Several members or frames after each other are read as one (gzip, zstd, lz4 and bz2 allow it),
/// and frames without data (zstd's and lz4's skippable ones) are passed over, wherever they stand.
/// Zeros behind a gzip member are padding, as they are to gzip(1); all else that follows the
/// compressed data and is none is an IOError, after the data. So is a file that ends early, at the
/// read that finds out.
Result<std::shared_ptr<arrow::io::InputStream>> ReadDecompressed(
    std::shared_ptr<arrow::io::RandomAccessFile> file, arrow::Compression::type codec);

}  // namespace easydata
