#pragma once

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>

#include "easydata/base/status.h"
#include "easydata/files/codec.h"
#include "easydata/files/decompressed_stream.h"
#include "easydata/files/file_info.h"

namespace easydata::files {

/// Removes the suffix of a codec (.gz .zst .bz2 .lz4 .xz) from a path and makes it lower case: the
/// rest tells the format.
std::string UncompressedName(std::string_view path);

/// Detects the codec of a file by its first bytes; none where they match none. A suffix of `name`
/// that the bytes contradict is an error, an empty file is not compressed.
Result<Codec> DetectCompression(arrow::io::RandomAccessFile* file, std::string_view name);

/// The same of a listed file, whose codec takes the windows that it may.
Result<Codec> DetectCompression(arrow::io::RandomAccessFile* file, const FileInfo& info);

/// Reads an open file from its start, decompressed, whatever else is read from it meanwhile.
///
/// Several members or frames in a row are read as one (gzip, zstd, lz4, bz2 and xz allow it),
/// and frames without data (zstd's and lz4's skippable ones) are passed over, wherever they stand.
/// Zeros after a member of gzip or xz are padding, as they are to gzip(1); anything else that
/// follows the compressed data is an IOError, after the data. So is a file that ends early, at the
/// read that finds out. A file of another machine that is damaged is read once more before that is
/// said, as DecompressedStream tells; `check` says whether its content is held back meanwhile.
Result<std::shared_ptr<arrow::io::InputStream>> ReadDecompressed(
    std::shared_ptr<arrow::io::RandomAccessFile> file, const Codec& codec,
    MemberCheck check = MemberCheck::kBeforeUse);

/// How many bytes of the file itself a stream of ReadDecompressed() has read; -1 where it cannot
/// tell.
int64_t FilePosition(const arrow::io::InputStream& stream);

}  // namespace easydata::files
