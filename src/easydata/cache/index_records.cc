#include "easydata/cache/index_records.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "easydata/base/hash.h"

namespace easydata::cache {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

constexpr std::string_view kHeader = "EasyData token index 1\n\0";
constexpr std::string_view kMagic = "ETIr";
constexpr size_t kFrame = 4 + 4 + 8;  // magic, bytes of what follows the checksum, checksum
constexpr std::string_view kSuffix = ".tokens";
constexpr size_t kNameDigits = 32;

template <typename T>
void AppendValue(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendText(std::string_view text, std::string* out) {
  AppendValue(static_cast<uint32_t>(text.size()), out);
  out->append(text);
}

/// Takes values from the front of bytes; what is not there is 0, and `is_whole` false.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Take() {
    T value = {};
    const std::string_view piece = TakeBytes(sizeof(T));
    if (piece.size() == sizeof(T)) std::memcpy(&value, piece.data(), sizeof(T));
    return value;
  }
  std::string TakeText() { return std::string(TakeBytes(Take<uint32_t>())); }

  size_t left() const { return bytes_.size(); }
  bool is_whole() const { return is_whole_; }

 private:
  std::string_view TakeBytes(size_t size) {
    is_whole_ &= size <= bytes_.size();
    const std::string_view piece = bytes_.substr(0, is_whole_ ? size : 0);
    bytes_.remove_prefix(piece.size());
    return piece;
  }

  std::string_view bytes_;
  bool is_whole_ = true;
};

bool ReadRecord(std::string_view payload, IndexRecord* record) {
  RecordReader in(payload);
  record->is_added = in.Take<uint8_t>() != 0;
  record->file.name = in.TakeText();
  record->file.bytes = in.Take<int64_t>();
  const auto count = in.Take<uint32_t>();
  constexpr size_t kLeast = 2 * sizeof(BlockKey::Hash) + 4 * sizeof(int64_t) + sizeof(uint32_t);
  if (!in.is_whole() || count > in.left() / kLeast) return false;
  record->file.blocks.resize(count);
  for (TokenBlock& block : record->file.blocks) {
    block.key.plan = in.Take<BlockKey::Hash>();
    block.key.block = in.Take<BlockKey::Hash>();
    block.rows = in.Take<int64_t>();
    block.tokens = in.Take<int64_t>();
    block.offset = in.Take<int64_t>();
    block.bytes = in.Take<int64_t>();
    block.facts = in.TakeText();
  }
  // The name is joined to a folder's.
  return in.is_whole() && in.left() == 0 && IsTokenFileName(record->file.name);
}

}  // namespace

std::string_view IndexHeader() { return {kHeader.data(), 24}; }

std::string EncodeRecord(const IndexRecord& record) {
  std::string payload;
  AppendValue(static_cast<uint8_t>(record.is_added ? 1 : 0), &payload);
  AppendText(record.file.name, &payload);
  AppendValue(record.file.bytes, &payload);
  AppendValue(static_cast<uint32_t>(record.file.blocks.size()), &payload);
  for (const TokenBlock& block : record.file.blocks) {
    AppendValue(block.key.plan, &payload);
    AppendValue(block.key.block, &payload);
    AppendValue(block.rows, &payload);
    AppendValue(block.tokens, &payload);
    AppendValue(block.offset, &payload);
    AppendValue(block.bytes, &payload);
    AppendText(block.facts, &payload);
  }
  std::string out(kMagic);
  AppendValue(static_cast<uint32_t>(payload.size()), &out);
  AppendValue(Hash64(payload), &out);
  return out + payload;
}

ParsedRecords ParseRecords(std::string_view bytes) {
  ParsedRecords out;
  for (size_t at = 0;;) {
    const size_t found = bytes.find(kMagic, at);
    if (found == std::string_view::npos || bytes.size() - found < kFrame) return out;
    uint32_t size = 0;
    uint64_t hash = 0;
    std::memcpy(&size, bytes.data() + found + 4, sizeof(size));
    std::memcpy(&hash, bytes.data() + found + 8, sizeof(hash));
    const std::string_view payload = bytes.substr(found + kFrame, size);
    IndexRecord record;
    const bool is_right =
        payload.size() == size && Hash64(payload) == hash && ReadRecord(payload, &record);
    at = found + (is_right ? kFrame + size : 1);
    if (!is_right) continue;
    out.is_damaged |= found != out.used;
    out.used = at;
    out.records.push_back(std::move(record));
  }
}

std::string NameOfBlocks(const std::vector<TokenBlock>& blocks) {
  std::string keys;
  for (const TokenBlock& block : blocks) {
    AppendValue(block.key.plan, &keys);
    AppendValue(block.key.block, &keys);
  }
  return ToHex(Hash64(keys, 1)) + ToHex(Hash64(keys)) + std::string(kSuffix);
}

bool IsTokenFileName(std::string_view name) {
  if (name.size() != kNameDigits + kSuffix.size() || !name.ends_with(kSuffix)) return false;
  const std::string_view digits = name.substr(0, kNameDigits);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace easydata::cache
