#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace easydata::record_file {

/// Memory that reading records one by one takes again and again.
struct RecordScratch {
  std::string chunk;
  std::string values;
  std::string sizes;
};

/// The record of a chunk that has one, lies within a block and is not compressed, or by zstd: what
/// most chunks of most files are. All hashes are checked. Nothing where it is anything else, or
/// damaged: ParseChunk() and DecodeRecords() read it then, or say what is wrong.
///
/// `bytes` are those from byte `begin` of the file up to the next chunk; the record lies in them,
/// or in `scratch`.
std::optional<std::string_view> LoneRecord(std::string_view bytes, int64_t begin,
                                           RecordScratch* scratch);

}  // namespace easydata::record_file
