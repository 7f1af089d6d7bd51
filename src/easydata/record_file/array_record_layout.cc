#include "easydata/record_file/array_record_layout.h"

#include <array>

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

/// The field of the footer's head that has what we say of tokens: of array_record's layout none has
/// a number like it.
constexpr uint64_t kVocabularyField = 31'415;

/// The fields of a message that are used here, by their numbers; 0 and "" where one is missing.
struct MessageFields {
  std::array<int64_t, 5> numbers = {};
  std::array<std::string_view, 5> bytes = {};
  std::string_view vocabulary = {};
};

Result<MessageFields> ReadFields(std::string_view message) {
  MessageFields out;
  while (!message.empty()) {
    uint64_t key = 0;
    uint64_t value = 0;
    if (!TakeVarint(&message, &key)) return Status::Invalid("a field is damaged");
    const uint64_t field = key >> 3;
    const uint64_t type = key & 7;
    if (type == kVarint) {
      if (!TakeVarint(&message, &value)) return Status::Invalid("a number is damaged");
      if (field < out.numbers.size()) out.numbers[field] = static_cast<int64_t>(value);
      continue;
    }
    if (type == kBytes && !TakeVarint(&message, &value)) {
      return Status::Invalid("a length is damaged");
    }
    if (type == kFixed64) value = 8;
    if (type == kFixed32) value = 4;
    const bool is_known = type == kBytes || type == kFixed64 || type == kFixed32;
    if (!is_known || value > message.size()) return Status::Invalid("a field is damaged");
    if (type == kBytes && field < out.bytes.size()) out.bytes[field] = message.substr(0, value);
    if (type == kBytes && field == kVocabularyField) out.vocabulary = message.substr(0, value);
    message.remove_prefix(value);
  }
  return out;
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
  if (!head.vocabulary.empty()) AppendBytes(kVocabularyField, head.vocabulary, &out);
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
  ARROW_ASSIGN_OR_RAISE(const MessageFields outer, ReadFields(bytes));
  ARROW_ASSIGN_OR_RAISE(const MessageFields fields, ReadFields(outer.bytes[1]));
  const FooterHead head{fields.numbers[1], fields.numbers[2], fields.numbers[3],
                        std::string(fields.bytes[4]), std::string(outer.vocabulary)};
  ARROW_RETURN_NOT_OK(CheckCount(head.num_chunks, "number of chunks"));
  ARROW_RETURN_NOT_OK(CheckCount(head.num_records, "number of records"));
  if (head.version != 1) {
    return Status::Invalid("it is of version ", head.version, ", and 1 is read");
  }
  return head;
}

Result<FooterEntry> DecodeFooterEntry(std::string_view bytes) {
  ARROW_ASSIGN_OR_RAISE(const MessageFields fields, ReadFields(bytes));
  const FooterEntry entry{fields.numbers[1], fields.numbers[2], fields.numbers[3]};
  ARROW_RETURN_NOT_OK(CheckCount(entry.chunk_offset, "place of a chunk"));
  ARROW_RETURN_NOT_OK(CheckCount(entry.decoded_data_size, "size of a chunk"));
  ARROW_RETURN_NOT_OK(CheckCount(entry.num_records, "number of records of a chunk"));
  return entry;
}

Result<int64_t> DecodePostscript(std::string_view bytes) {
  ARROW_ASSIGN_OR_RAISE(const MessageFields fields, ReadFields(bytes));
  const int64_t offset = fields.numbers[1];
  if (static_cast<uint64_t>(fields.numbers[2]) != kPostscriptMagic || offset < 0) {
    return Status::Invalid("it is no postscript");
  }
  return offset;
}

}  // namespace easydata::record_file
