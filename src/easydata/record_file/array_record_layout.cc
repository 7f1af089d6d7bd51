#include "easydata/record_file/array_record_layout.h"

#include "easydata/record_file/riegeli_chunk.h"
#include "easydata/record_file/varint.h"

namespace easydata::record_file {
namespace {

constexpr uint64_t kVarint = 0;  // types of fields on the wire
constexpr uint64_t kFixed64 = 1;
constexpr uint64_t kBytes = 2;
constexpr uint64_t kFixed32 = 5;

void AppendNumber(uint64_t field, int64_t value, std::string* out) {
  AppendVarint(field << 3 | kVarint, out);
  AppendVarint(static_cast<uint64_t>(value), out);
}

void AppendBytes(uint64_t field, std::string_view value, std::string* out) {
  AppendVarint(field << 3 | kBytes, out);
  AppendVarint(value.size(), out);
  *out += value;
}

/// Calls `number(field, value)` and `bytes(field, value)` for the fields of a message.
template <typename Number, typename Bytes>
Status ForEachField(std::string_view message, const Number& number, const Bytes& bytes) {
  while (!message.empty()) {
    uint64_t key = 0;
    uint64_t value = 0;
    if (!TakeVarint(&message, &key)) return Status::Invalid("a field is damaged");
    const uint64_t type = key & 7;
    if (type == kVarint) {
      if (!TakeVarint(&message, &value)) return Status::Invalid("a number is damaged");
      number(key >> 3, value);
      continue;
    }
    if (type == kBytes && !TakeVarint(&message, &value))
      return Status::Invalid("a length is damaged");
    if (type == kFixed64) value = 8;
    if (type == kFixed32) value = 4;
    const bool is_known = type == kBytes || type == kFixed64 || type == kFixed32;
    if (!is_known || value > message.size()) return Status::Invalid("a field is damaged");
    if (type == kBytes) bytes(key >> 3, message.substr(0, value));
    message.remove_prefix(value);
  }
  return Status::OK();
}

/// What a signed number of a message may be here.
Status CheckCount(int64_t value, const char* what) {
  if (value >= 0) return Status::OK();
  return Status::Invalid("its ", what, " is negative: ", value);
}

}  // namespace

std::string SignatureBytes() { return ChunkBytes(ChunkType::kSignature, "", 0, 0, 0); }

std::string EncodeFooterHead(const FooterHead& head) {
  std::string inner;
  AppendNumber(1, head.version, &inner);
  AppendNumber(2, head.num_chunks, &inner);
  AppendNumber(3, head.num_records, &inner);
  AppendBytes(4, head.writer_options, &inner);
  std::string out;
  AppendBytes(1, inner, &out);
  return out;
}

std::string EncodeFooterEntry(const FooterEntry& entry) {
  std::string out;
  AppendNumber(1, entry.chunk_offset, &out);
  AppendNumber(2, entry.decoded_data_size, &out);
  AppendNumber(3, entry.num_records, &out);
  return out;
}

std::string EncodePostscript(int64_t footer_offset) {
  std::string out;
  AppendNumber(1, footer_offset, &out);
  AppendVarint(2 << 3 | kVarint, &out);
  AppendVarint(kPostscriptMagic, &out);
  return out;
}

Result<FooterHead> DecodeFooterHead(std::string_view bytes) {
  std::string_view inner;
  bool is_there = false;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, [](uint64_t, uint64_t) {},
      [&](uint64_t field, std::string_view value) {
        if (field == 1) {
          inner = value;
          is_there = true;
        }
      }));
  if (!is_there) return Status::Invalid("it does not say what it is");
  FooterHead head;
  head.version = 0;
  ARROW_RETURN_NOT_OK(ForEachField(
      inner,
      [&](uint64_t field, uint64_t value) {
        const auto number = static_cast<int64_t>(value);
        if (field == 1) head.version = number;
        if (field == 2) head.num_chunks = number;
        if (field == 3) head.num_records = number;
      },
      [&](uint64_t field, std::string_view value) {
        if (field == 4) head.writer_options = value;
      }));
  ARROW_RETURN_NOT_OK(CheckCount(head.num_chunks, "number of chunks"));
  ARROW_RETURN_NOT_OK(CheckCount(head.num_records, "number of records"));
  if (head.version != 1) {
    return Status::Invalid("it is of version ", head.version, ", and 1 is read");
  }
  return head;
}

Result<FooterEntry> DecodeFooterEntry(std::string_view bytes) {
  FooterEntry entry;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes,
      [&](uint64_t field, uint64_t value) {
        const auto number = static_cast<int64_t>(value);
        if (field == 1) entry.chunk_offset = number;
        if (field == 2) entry.decoded_data_size = number;
        if (field == 3) entry.num_records = number;
      },
      [](uint64_t, std::string_view) {}));
  ARROW_RETURN_NOT_OK(CheckCount(entry.chunk_offset, "place of a chunk"));
  ARROW_RETURN_NOT_OK(CheckCount(entry.decoded_data_size, "size of a chunk"));
  ARROW_RETURN_NOT_OK(CheckCount(entry.num_records, "number of records of a chunk"));
  return entry;
}

Result<int64_t> DecodePostscript(std::string_view bytes) {
  int64_t offset = -1;
  uint64_t magic = 0;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes,
      [&](uint64_t field, uint64_t value) {
        if (field == 1) offset = static_cast<int64_t>(value);
        if (field == 2) magic = value;
      },
      [](uint64_t, std::string_view) {}));
  if (magic != kPostscriptMagic || offset < 0) return Status::Invalid("it is no postscript");
  return offset;
}

}  // namespace easydata::record_file
