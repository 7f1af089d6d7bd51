#include "tokenizers/normalize/strip_accents.h"

#include "tokenizers/normalize/alignment.h"
#include "tokenizers/normalize/edit_table.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// Marks start at U+0300.
constexpr uint8_t kFirstLead = 0xCC;

bool IsMark(char32_t c) { return (EditTable()[c] & unicode_tables::kMark) != 0; }

// The first mark from `p`, the start of a character, on, or `end`.
const char* FindMark(const char* p, const char* end) {
  const CodePointTable<uint8_t>& edits = EditTable();
  while ((p = utf8::SkipAscii(p, end)) < end) {
    if (static_cast<uint8_t>(*p) < kFirstLead) {
      p += 2;
      continue;
    }
    const utf8::CodePoint c = utf8::Decode(p);
    if ((edits[c.value] & unicode_tables::kMark) != 0) return p;
    p += c.length;
  }
  return end;
}

}  // namespace

bool StripAccents::IsInert(std::string_view text) const {
  const char* const end = text.data() + text.size();
  return FindMark(text.data(), end) == end;
}

Status StripAccents::Normalize(std::string_view text, std::string* out) const {
  const char* const end = text.data() + text.size();
  out->clear();
  for (const char* p = text.data(); p < end;) {
    const char* const mark = FindMark(p, end);
    out->append(p, mark);
    p = mark < end ? mark + utf8::Decode(mark).length : end;
  }
  return Status::OK();
}

Status StripAccents::NormalizeTracked(std::string_view text, size_t* inserted,
                                      std::string* out) const {
  if (*inserted == 0) return Normalize(text, out);
  return ApplyRemoval(text, *inserted, IsMark, out);
}

}  // namespace easydata::tokenizers
