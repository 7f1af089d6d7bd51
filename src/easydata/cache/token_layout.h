#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/cache/token_file.h"

namespace easydata::cache {

// What lies where in a token file: docs/formats/token_store.md.

inline constexpr std::string_view kTokenMagic = "EASYTOKS";
inline constexpr uint32_t kTokenVersion = 1;
/// Blocks, their parts and the footer begin at multiples of it; so long are header and trailer.
inline constexpr int64_t kTokenAlignment = 64;
/// Of a block, and of a list of 32-bit offsets.
inline constexpr int64_t kMostRows = std::numeric_limits<int32_t>::max();
inline constexpr int64_t kMostValues = int64_t{1} << 40;
/// A column of one number takes no bytes of the file: what a few bytes can ask for is limited.
inline constexpr int64_t kMostRepeated = int64_t{1} << 26;
inline constexpr int64_t kMostFacts = 1 << 20;

constexpr int64_t AlignedForTokens(int64_t bytes) {
  return (bytes + kTokenAlignment - 1) / kTokenAlignment * kTokenAlignment;
}

/// Bytes that belong together, such as the values of a column.
struct PartLayout {
  int64_t offset = 0;     // in the file
  int64_t bytes = 0;      // as they are stored
  int64_t raw_bytes = 0;  // decompressed
  uint64_t hash = 0;      // XXH3, 64 bits, of them as they are stored
  Compression compression = Compression::kNone;
};

/// How the values of a column are stored; the numbers are those of the file.
enum class ColumnEncoding : uint32_t {
  kMessage = 0,   // in the block's Arrow message, with all others of this kind
  kPlain = 1,     // as the column's type has them
  kUint16 = 2,    // for types of 4 and 8 bytes
  kInt32 = 3,     // for types of 8 bytes
  kConstant = 4,  // all are one number
};

inline constexpr int32_t kNoPart = -1;

/// Where a column is: numbers of parts of its block, which several columns may have in common.
struct ColumnLayout {
  ColumnEncoding encoding = ColumnEncoding::kMessage;
  int32_t offsets = kNoPart;
  int32_t values = kNoPart;
  int32_t valid_rows = kNoPart;    // a bitmap; none where all are valid
  int32_t valid_values = kNoPart;  // a bitmap; none where all are valid
  int64_t num_values = 0;
  uint64_t constant = 0;
};

struct BlockLayout {
  TokenBlock block;
  uint32_t schema = 0;  // number of the footer's
  int32_t message = kNoPart;
  int32_t notes = kNoPart;
  std::vector<PartLayout> parts;
  std::vector<ColumnLayout> columns;
};

struct TokenFooter {
  std::vector<std::shared_ptr<arrow::Schema>> schemas;
  std::vector<BlockLayout> blocks;
};

/// Whether a column of this type is stored as offsets and values: lists of integers.
bool IsListOfIntegers(const arrow::DataType& type);
/// Bytes of a number of a list of integers.
int64_t WidthOfIntegers(const arrow::DataType& list);
/// Bytes that a stored number takes; 0 for those of kConstant and kMessage.
int64_t StoredWidth(ColumnEncoding encoding, int64_t width);

std::string TokenHeader();

/// `schemas`: as messages of Arrow's, in the order of their numbers.
std::string EncodeTokenFooter(const std::vector<std::string>& schemas,
                              const std::vector<BlockLayout>& blocks);
/// The end of a file whose footer is at `offset`.
std::string TokenTrailer(int64_t offset, std::string_view footer);

/// Reads header, trailer and footer. Invalid where anything in them is not as it was written, or
/// cannot be; whatever a footer says lies within the file then.
Result<TokenFooter> ReadTokenFooter(arrow::io::RandomAccessFile* file, int64_t size);

/// Decodes a footer at `offset` in its file, whose hash is right.
Result<TokenFooter> DecodeTokenFooter(std::string_view bytes, int64_t offset);

}  // namespace easydata::cache
