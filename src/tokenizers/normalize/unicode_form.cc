#include "tokenizers/normalize/unicode_form.h"

#include <algorithm>

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

uint16_t UnsafeBits(UnicodeForm::Kind kind) {
  switch (kind) {
    case UnicodeForm::kNfc:
      return FormData::kNotComposed | FormData::kSecond;
    case UnicodeForm::kNfd:
      return FormData::kCanonical;
    case UnicodeForm::kNfkc:
      return FormData::kNotCompatComposed | FormData::kSecond;
    case UnicodeForm::kNfkd:
      return FormData::kCompatibility;
  }
  return 0;
}

}  // namespace

UnicodeForm::UnicodeForm(Kind kind)
    : data_(FormData::Get()),
      composes_(kind == kNfc || kind == kNfkc),
      compatible_(kind == kNfkc || kind == kNfkd),
      unsafe_(UnsafeBits(kind)) {
  std::fill(is_inert_, is_inert_ + 0xC0, true);
  const auto is_inert = [&](char32_t begin, char32_t end) {
    for (char32_t c = begin; c < end; ++c) {
      if ((data_[c] & (unsafe_ | FormData::kClassMask)) != 0) return false;
    }
    return true;
  };
  for (uint32_t lead = 0xC2; lead < 0xE0; ++lead) {
    const char32_t first = (lead & 0x1F) << 6;
    is_inert_[lead] = is_inert(first, first + (1 << 6));
  }
  for (uint32_t lead = 0xE0; lead < 0xF0; ++lead) {
    const char32_t first = (lead & 0x0F) << 12;
    is_inert_[lead] = is_inert(std::max<char32_t>(first, 0x800), first + (1 << 12));
  }
}

// The first character from `p` on that starts with a byte that is not inert, or `end`.
const char* UnicodeForm::SkipInert(const char* p, const char* end) const {
  for (;;) {
    p = utf8::SkipAscii(p, end);
    const char* const other = p;
    while (p < end && static_cast<uint8_t>(*p) >= 0x80 && is_inert_[static_cast<uint8_t>(*p)]) ++p;
    if (p == end || p == other || static_cast<uint8_t>(*p) >= 0x80) return p;
  }
}

// The first character from `p`, the start of a character, on that may be other in the form, or
// `end`. *safe is the last boundary up to there before which nothing depends on what follows.
const char* UnicodeForm::FindChange(const char* p, const char* end, const char** safe) const {
  *safe = p;
  uint8_t previous_class = 0;
  while (p < end) {
    const char* const start = p;
    p = SkipInert(p, end);
    if (p > start) {
      *safe = utf8::Previous(p);
      previous_class = 0;
      if (p == end) break;
    }
    const utf8::CodePoint c = utf8::Decode(p);
    const uint16_t data = data_[c.value];
    if ((data & unsafe_) != 0) return p;
    const auto combining_class = static_cast<uint8_t>(data & FormData::kClassMask);
    if (combining_class == 0) {
      *safe = p;
    } else if (combining_class < previous_class) {
      return p;
    }
    previous_class = combining_class;
    p += c.length;
  }
  return end;
}

// The first character from `p` on before which the text may be cut, or `end`.
const char* UnicodeForm::FindBoundary(const char* p, const char* end) const {
  while (p < end && !is_inert_[static_cast<uint8_t>(*p)]) {
    const utf8::CodePoint c = utf8::Decode(p);
    if ((data_[c.value] & (unsafe_ | FormData::kClassMask)) == 0) break;
    p += c.length;
  }
  return p;
}

// Decomposes a segment and orders its marks by their class.
void UnicodeForm::Decompose(std::string_view segment, std::vector<Mark>* marks) const {
  marks->clear();
  size_t run = 0;  // where the marks after the last starter begin
  const auto order_run = [&] {
    const auto first = marks->begin() + static_cast<ptrdiff_t>(run);
    const auto less = [](const Mark& a, const Mark& b) {
      return a.combining_class < b.combining_class;
    };
    if (!std::is_sorted(first, marks->end(), less)) std::stable_sort(first, marks->end(), less);
  };
  for (const char *p = segment.data(), *end = p + segment.size(); p < end;) {
    const utf8::CodePoint c = utf8::Decode(p);
    p += c.length;
    int8_t change = 0;
    data_.Decompose(c.value, compatible_, [&](char32_t part) {
      const uint8_t combining_class = data_.combining_class(part);
      if (combining_class == 0) {
        order_run();
        run = marks->size() + 1;
      }
      marks->push_back({part, combining_class, change});
      change = 1;
    });
  }
  order_run();
}

// Joins each character to the last starter before it unless something between them blocks it.
void UnicodeForm::Compose(std::vector<Mark>* marks) const {
  constexpr size_t kNone = SIZE_MAX;
  size_t kept = 0, starter = kNone;
  int previous_class = -1;  // of what was kept after the starter; -1: nothing
  for (const Mark mark : *marks) {
    if (starter != kNone && previous_class < static_cast<int>(mark.combining_class)) {
      Mark& base = (*marks)[starter];
      if (const char32_t joined = data_.Compose(base.character, mark.character); joined != 0) {
        base.character = joined;
        base.change = static_cast<int8_t>(base.change + mark.change - 1);
        continue;
      }
    }
    if (mark.combining_class == 0) {
      starter = kept;
      previous_class = -1;
    } else {
      previous_class = mark.combining_class;
    }
    (*marks)[kept++] = mark;
  }
  marks->resize(kept);
}

bool UnicodeForm::IsInert(std::string_view text) const {
  const char* const end = text.data() + text.size();
  const char* safe;
  return FindChange(text.data(), end, &safe) == end;
}

Status UnicodeForm::Normalize(std::string_view text, std::string* out) const {
  const char* const end = text.data() + text.size();
  const char* copied = text.data();
  std::vector<Mark> marks;
  out->clear();
  for (;;) {
    const char* safe;
    const char* const change = FindChange(copied, end, &safe);
    if (change == end) break;
    out->append(copied, safe);
    copied = FindBoundary(change + utf8::Decode(change).length, end);
    Decompose({safe, static_cast<size_t>(copied - safe)}, &marks);
    if (composes_) Compose(&marks);
    for (const Mark& mark : marks) utf8::Append(mark.character, out);
  }
  out->append(copied, end);
  return Status::OK();
}

std::vector<Change> UnicodeForm::Changes(std::string_view text) const {
  std::vector<Mark> marks;
  Decompose(text, &marks);
  if (composes_) Compose(&marks);
  std::vector<Change> changes;
  changes.reserve(marks.size());
  for (const Mark& mark : marks) changes.push_back({mark.character, mark.change});
  return changes;
}

Status UnicodeForm::NormalizeWithOrigin(std::string_view text, size_t* origin,
                                        std::string* out) const {
  const char* const boundary = FindBoundary(text.data() + *origin, text.data() + text.size());
  const std::string_view head(text.data(), static_cast<size_t>(boundary - text.data()));
  *origin = CountOrigin(Changes(head), utf8::CountCharacters(text.substr(0, *origin)));
  return Normalize(text, out);
}

Status UnicodeForm::NormalizeTracked(std::string_view text, size_t* inserted,
                                     std::string* out) const {
  if (*inserted == 0) return Normalize(text, out);
  return ApplyChanges(text, *inserted, 0, Changes(text), out);
}

}  // namespace easydata::tokenizers
