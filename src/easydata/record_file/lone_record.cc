#include "easydata/record_file/lone_record.h"

#include <cstring>
#include <span>

#include "easydata/record_file/highway_hash.h"
#include "easydata/record_file/riegeli_block.h"
#include "easydata/record_file/riegeli_chunk.h"
#include "easydata/record_file/varint.h"
#include "easydata/record_file/zstd_frame.h"

namespace easydata::record_file {
namespace {

// Longer records are no matter of what comes with each.
constexpr uint64_t kMostOfLoneRecord = 16 << 20;

/// Decompresses what has its size before it, `expected` bytes.
bool Unpack(std::string_view packed, uint64_t expected, std::string* out) {
  uint64_t size = 0;
  if (!TakeVarint(&packed, &size) || size != expected) return false;
  out->resize(size);
  if (size == 0) return packed.empty();
  if (const auto stored = StoredInZstd(packed); stored.size() == size) {
    std::memcpy(out->data(), stored.data(), size);
    return true;
  }
  return DecompressZstd(packed, {reinterpret_cast<uint8_t*>(out->data()), size}).ok();
}

}  // namespace

std::optional<std::string_view> LoneRecord(std::string_view bytes, int64_t begin,
                                           RecordScratch* scratch) {
  const auto whole = static_cast<int64_t>(bytes.size());
  if (whole < kChunkHeaderBytes || LeftInBlock(begin) < whole) return std::nullopt;
  const char* const head = bytes.data();
  if (LoadWord(head) != HighwayHash({head + 8, 32})) return std::nullopt;
  const uint64_t data_size = LoadWord(head + 8);
  const uint64_t kind = LoadWord(head + 24);
  const uint64_t decoded = LoadWord(head + 32);
  const bool is_simple = static_cast<ChunkType>(kind & 0xff) == ChunkType::kSimple;
  if (!is_simple || kind >> 8 != 1 || decoded > kMostOfLoneRecord || data_size < 2 ||
      data_size > bytes.size() - kChunkHeaderBytes) {
    return std::nullopt;
  }
  std::string_view data = bytes.substr(kChunkHeaderBytes, data_size);
  if (LoadWord(head + 16) != HighwayHash(data)) return std::nullopt;
  const char codec = data[0];
  data.remove_prefix(1);
  uint64_t sizes_size = 0;
  if (!TakeVarint(&data, &sizes_size) || sizes_size > data.size()) return std::nullopt;
  std::string_view sizes = data.substr(0, sizes_size);
  std::string_view values = data.substr(sizes_size);
  if (codec == 'z') {
    // One size, which is that of all.
    uint64_t bytes_of_size = 1;
    for (uint64_t rest = decoded; rest >= 0x80; rest >>= 7) ++bytes_of_size;
    if (!Unpack(sizes, bytes_of_size, &scratch->sizes) ||
        !Unpack(values, decoded, &scratch->values)) {
      return std::nullopt;
    }
    sizes = scratch->sizes;
    values = scratch->values;
  } else if (codec != 0) {
    return std::nullopt;
  }
  uint64_t size = 0;
  if (!TakeVarint(&sizes, &size) || !sizes.empty() || size != decoded || size != values.size()) {
    return std::nullopt;
  }
  return values;
}

}  // namespace easydata::record_file
