#include "tokenizers/normalize/lowercase.h"

#include "tokenizers/normalize/text_sink.h"
#include "tokenizers/unicode_tables.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

constexpr size_t kBlock = 32;

// Lowercases a block of bytes; returns whether all were ASCII, else the output is not valid.
// Written for the compiler to make vectors of.
bool LowerBlock(const char* from, char* to) {
  uint8_t all = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const auto byte = static_cast<uint8_t>(from[i]);
    all |= byte;
    const bool upper = static_cast<uint8_t>(byte - 'A') < 26;
    to[i] = static_cast<char>(byte | (upper ? 0x20 : 0));
  }
  return all < 0x80;
}

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

}  // namespace

const LowercaseTable& LowercaseTable::Get() {
  static const LowercaseTable table;
  return table;
}

LowercaseTable::LowercaseTable() {
  for (size_t i = 0; i < unicode_tables::kNumCaseRanges; ++i) {
    const auto& range = unicode_tables::kCaseRanges[i];
    for (uint32_t c = range.first; c <= range.last; c += range.step) distance_.at(c) = range.by;
  }
  distance_.at(kDottedI) = 1;
}

bool Lowercase::IsInert(std::string_view text) const {
  const LowercaseTable& table = LowercaseTable::Get();
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    char lowered[kBlock];
    while (static_cast<size_t>(end - p) >= kBlock && LowerBlock(p, lowered)) {
      if (std::memcmp(p, lowered, kBlock) != 0) return false;
      p += kBlock;
    }
    const char* const stop = static_cast<size_t>(end - p) >= kBlock ? p + kBlock : end;
    while (p < stop) {
      const utf8::CodePoint c = utf8::Decode(p);
      if (table.Changes(c.value)) return false;
      p += c.length;
    }
  }
  return true;
}

Status Lowercase::Normalize(std::string_view text, std::string* out) const {
  const LowercaseTable& table = LowercaseTable::Get();
  const char* const end = text.data() + text.size();
  TextSink sink(text.size(), out);
  for (const char* p = text.data(); p < end;) {
    while (static_cast<size_t>(end - p) >= kBlock) {
      char* const room = sink.Room(kBlock);
      if (!LowerBlock(p, room)) break;
      sink.Advance(room + kBlock);
      p += kBlock;
    }
    // A block with other characters, or what is left: a character stays as long or gets at most one
    // byte longer, and has two bytes then.
    const char* const stop = static_cast<size_t>(end - p) >= kBlock ? p + kBlock : end;
    char* to = sink.Room(2 * kBlock + 8);
    while (p < stop) {
      if (static_cast<uint8_t>(*p) < 0x80) {
        *to++ = LowerAscii(*p++);
        continue;
      }
      const utf8::CodePoint c = utf8::Decode(p);
      table.Map(c.value, [&](char32_t lower) { to = utf8::Write(lower, to); });
      p += c.length;
    }
    sink.Advance(to);
  }
  sink.Finish();
  return Status::OK();
}

}  // namespace easydata::tokenizers
