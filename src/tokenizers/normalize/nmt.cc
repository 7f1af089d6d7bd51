#include "tokenizers/normalize/nmt.h"

#include "tokenizers/normalize/edit_table.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

constexpr uint8_t kEdits = unicode_tables::kNmtDropped | unicode_tables::kNmtSpaced;

// The first character from `p`, the start of one, on that is not kept, or `end`.
const char* FindEdit(const char* p, const char* end) {
  const CodePointTable<uint8_t>& edits = EditTable();
  while (p < end) {
    const auto byte = static_cast<uint8_t>(*p);
    if (byte - 0x20u < 0x5Fu) {
      ++p;
      continue;
    }
    const utf8::CodePoint c = utf8::Decode(p);
    if ((edits[c.value] & kEdits) != 0) return p;
    p += c.length;
  }
  return end;
}

}  // namespace

bool Nmt::IsInert(std::string_view text) const {
  const char* const end = text.data() + text.size();
  return FindEdit(text.data(), end) == end;
}

Status Nmt::Normalize(std::string_view text, std::string* out) const {
  const char* const end = text.data() + text.size();
  out->clear();
  for (const char* p = text.data(); p < end;) {
    const char* const edit = FindEdit(p, end);
    out->append(p, edit);
    if (edit == end) break;
    const utf8::CodePoint c = utf8::Decode(edit);
    if ((EditTable()[c.value] & unicode_tables::kNmtSpaced) != 0) out->push_back(' ');
    p = edit + c.length;
  }
  return Status::OK();
}

}  // namespace easydata::tokenizers
