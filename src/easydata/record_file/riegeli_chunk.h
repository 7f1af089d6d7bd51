#pragma once

#include <arrow/type_fwd.h>
#include <arrow/util/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/record_file/riegeli_block.h"

namespace easydata::record_file {

enum class ChunkType : char {
  kSignature = 's',
  kMetadata = 'm',
  kPadding = 'p',
  kSimple = 'r',
  kTransposed = 't',
};

/// What a chunk says of itself.
struct ChunkHeader {
  int64_t data_size = 0;
  uint64_t data_hash = 0;
  ChunkType type = ChunkType::kSimple;
  int64_t num_records = 0;
  int64_t decoded_data_size = 0;  // bytes of all records
};

/// The records of a chunk.
struct Records {
  std::shared_ptr<arrow::Buffer> values;  // one after the other
  std::vector<int64_t> ends;              // where each ends

  int64_t size() const { return static_cast<int64_t>(ends.size()); }
  std::string_view operator[](int64_t i) const;
};

/// Takes a chunk apart that lies at byte `begin` of its file. `bytes` are those from there on, at
/// most up to where the next chunk begins; all hashes in them are checked. The data is a part of
/// `bytes` where no block header lies in it. Invalid, with what is wrong, where it is damaged.
Result<std::shared_ptr<arrow::Buffer>> ParseChunk(const std::shared_ptr<arrow::Buffer>& bytes,
                                                  int64_t begin, ChunkHeader* header);

/// Decodes the records of a simple chunk. NotImplemented for transposed ones.
Result<Records> DecodeRecords(const ChunkHeader& header,
                              const std::shared_ptr<arrow::Buffer>& data);

/// Compresses what is written; null: not at all.
using ChunkCodec = std::shared_ptr<arrow::util::Codec>;

/// Encodes records as the data of a simple chunk. `values` are the records one after the other.
Result<std::string> EncodeRecords(std::string_view values, const std::vector<int64_t>& ends,
                                  const ChunkCodec& codec);

/// The bytes of a chunk that begins at byte `begin` of its file, up to where the next one begins:
/// headers of blocks in it, and zeros behind it where there are more records than bytes.
std::string ChunkBytes(ChunkType type, std::string_view data, int64_t num_records,
                       int64_t decoded_data_size, int64_t begin);

}  // namespace easydata::record_file
