#include "tokenizers/normalize/bert_normalizer.h"

#include <algorithm>
#include <utility>

#include "tokenizers/normalize/alignment.h"
#include "tokenizers/normalize/edit_table.h"
#include "tokenizers/normalize/form_data.h"
#include "tokenizers/normalize/lowercase.h"
#include "tokenizers/normalize/unicode_form.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

namespace t = unicode_tables;

bool IsAccent(char32_t c) { return (EditTable()[c] & t::kAccent) != 0; }

}  // namespace

BertNormalizer::BertNormalizer(const BertOptions& options) : options_(options) {
  // Code points that no table mentions stay as they are.
  for (char32_t c = 0; c < 0x80; ++c) Learn(c);
  for (size_t i = 0; i < t::kNumEditRanges; ++i) {
    for (char32_t c = t::kEditRanges[i].first; c <= t::kEditRanges[i].last; ++c) Learn(c);
  }
  for (size_t i = 0; i < t::kNumCaseRanges; ++i) {
    const auto& range = t::kCaseRanges[i];
    for (char32_t c = range.first; c <= range.last; c += range.step) Learn(c);
  }
  Learn(LowercaseTable::kDottedI);
  if (options_.strip_accents) {
    for (size_t i = 0; i < t::kNumCombiningClassRanges; ++i) {
      const auto& range = t::kCombiningClassRanges[i];
      for (char32_t c = range.first; c <= range.last; ++c) Learn(c);
    }
    for (size_t i = 0; i < t::kNumDecompositions; ++i) Learn(t::kDecompositions[i].code_point);
    for (char32_t c = 0xAC00; c <= 0xD7A3; ++c) Learn(c);
  }
  for (char32_t c = 0; c < 0x80; ++c) {
    ascii_kept_[c] = actions_[c] != kDrop;
    ascii_[c] = actions_[c] == kSpace ? ' ' : static_cast<char>(c);
    if (actions_[c] == kMap) ascii_[c] = pool_[spans_[maps_[c]].offset];
  }
}

template <typename Emit>
void BertNormalizer::Lower(char32_t c, Emit emit) const {
  if (options_.lowercase) {
    LowercaseTable::Get().Map(c, emit);
  } else {
    emit(c);
  }
}

// Finds out what becomes of a character between others.
void BertNormalizer::Learn(char32_t c) {
  const uint8_t edits = EditTable()[c];
  if (options_.clean_text && (edits & t::kBertDropped) != 0) {
    actions_.at(c) = kDrop;
    return;
  }
  const bool spaced = options_.clean_text && (edits & t::kBertSpaced) != 0;
  const bool padded = options_.handle_chinese_chars && (edits & t::kChinese) != 0;
  std::u32string result;
  bool ordered = true;
  const auto lower = [&](char32_t part) {
    Lower(part, [&](char32_t lowered) { result.push_back(lowered); });
  };
  if (padded) result.push_back(U' ');
  if (options_.strip_accents) {
    const FormData& data = FormData::Get();
    data.Decompose(spaced ? U' ' : c, false, [&](char32_t part) {
      if (IsAccent(part)) return;
      if (data.combining_class(part) != 0) ordered = false;
      lower(part);
    });
  } else {
    lower(spaced ? U' ' : c);
  }
  if (padded) result.push_back(U' ');

  uint8_t& action = actions_.at(c);
  if (!ordered) {
    action = kOrder;
  } else if (result.empty()) {
    action = kDrop;
  } else if (result == std::u32string(1, c)) {
    action = kKeep;
  } else if (result == U" ") {
    action = kSpace;
  } else if (result == std::u32string{U' ', c, U' '}) {
    action = kPad;
  } else if (action != kMap) {  // else several tables mention it
    action = kMap;
    maps_.at(c) = static_cast<uint16_t>(spans_.size());
    const auto offset = static_cast<uint32_t>(pool_.size());
    for (char32_t part : result) utf8::Append(part, &pool_);
    spans_.push_back({offset, static_cast<uint32_t>(pool_.size()) - offset});
  }
}

bool BertNormalizer::IsInert(std::string_view text) const {
  for (const char *p = text.data(), *end = p + text.size(); p < end;) {
    const utf8::CodePoint c = utf8::Decode(p);
    if (actions_[c.value] != kKeep) return false;
    p += c.length;
  }
  return true;
}

// Normalizes the characters from `p` on that are not ASCII; returns where they end.
const char* BertNormalizer::NormalizeOthers(const char* p, const char* end, TextSink* sink) const {
  while (p < end && static_cast<uint8_t>(*p) >= 0x80) {
    const utf8::CodePoint c = utf8::Decode(p);
    switch (actions_[c.value]) {
      case kKeep:
        sink->Append(p, p + c.length);
        break;
      case kDrop:
        break;
      case kSpace:
        sink->Append(' ');
        break;
      case kPad:
        sink->Append(' ');
        sink->Append(p, p + c.length);
        sink->Append(' ');
        break;
      case kMap: {
        const Span span = spans_[maps_[c.value]];
        sink->Append(std::string_view(pool_).substr(span.offset, span.size));
        break;
      }
      case kOrder:
        p = OrderMarks(p, end, sink);
        continue;
    }
    p += c.length;
  }
  return p;
}

// Normalizes the run of marks that the character at `p` has part in, ordered by their class;
// returns where it ends.
const char* BertNormalizer::OrderMarks(const char* p, const char* end, TextSink* sink) const {
  const FormData& data = FormData::Get();
  std::vector<std::pair<uint8_t, char32_t>> marks;
  const auto write = [&](char32_t part) {
    Lower(part, [&](char32_t lowered) { sink->AppendCodePoint(lowered); });
  };
  const auto flush = [&] {
    std::stable_sort(marks.begin(), marks.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& mark : marks) write(mark.second);
    marks.clear();
  };
  while (p < end) {
    const utf8::CodePoint c = utf8::Decode(p);
    const uint8_t action = actions_[c.value];
    if (action != kOrder && action != kDrop) break;  // it stands for something that is no mark
    p += c.length;
    if (options_.clean_text && (EditTable()[c.value] & t::kBertDropped) != 0) continue;
    data.Decompose(c.value, false, [&](char32_t part) {
      const uint8_t combining_class = data.combining_class(part);
      if (combining_class == 0) flush();
      if (IsAccent(part)) return;
      if (combining_class == 0) {
        write(part);
      } else {
        marks.emplace_back(combining_class, part);
      }
    });
  }
  flush();
  return p;
}

Status BertNormalizer::Normalize(std::string_view text, std::string* out) const {
  const char* const end = text.data() + text.size();
  TextSink sink(text.size(), out);
  for (const char* p = text.data(); p < end;) {
    const char* const others = utf8::SkipAscii(p, end);
    char* to = sink.Room(static_cast<size_t>(others - p));
    for (; p < others; ++p) {
      const auto byte = static_cast<uint8_t>(*p);
      *to = ascii_[byte];
      to += ascii_kept_[byte] ? 1 : 0;
    }
    sink.Advance(to);
    p = NormalizeOthers(p, end, &sink);
  }
  sink.Finish();
  return Status::OK();
}

// Step by step for the origin and the characters that may be ordered before its marks.
Status BertNormalizer::NormalizeWithOrigin(std::string_view text, size_t* origin,
                                           std::string* out) const {
  const char* const origin_end = text.data() + *origin;
  const char* const end = text.data() + text.size();
  std::string head;
  size_t tied = 0;  // bytes of head
  for (const char* p = text.data(); p < end;) {
    const utf8::CodePoint c = utf8::Decode(p);
    const uint8_t action = actions_[c.value];
    if (p >= origin_end && action != kDrop && action != kOrder) break;
    p += c.length;
    const uint8_t edits = EditTable()[c.value];
    if (options_.clean_text && (edits & t::kBertDropped) != 0) continue;
    const bool padded = options_.handle_chinese_chars && (edits & t::kChinese) != 0;
    if (padded) head.push_back(' ');
    utf8::Append(options_.clean_text && (edits & t::kBertSpaced) != 0 ? U' ' : c.value, &head);
    if (padded) head.push_back(' ');
    if (p <= origin_end) tied = head.size();
  }
  if (options_.strip_accents) {
    const std::vector<Change> changes = UnicodeForm(UnicodeForm::kNfd).Changes(head);
    tied = CountOrigin(changes, utf8::CountCharacters(std::string_view(head).substr(0, tied)));
    head.clear();
    for (const Change& change : changes) utf8::Append(change.character, &head);
  }
  *origin = 0;
  for (const char *p = head.data(), *tied_end = p + tied; p < tied_end;) {
    const utf8::CodePoint c = utf8::Decode(p);
    p += c.length;
    if (options_.strip_accents && IsAccent(c.value)) continue;
    Lower(c.value, [&](char32_t lowered) { *origin += utf8::Size(lowered); });
  }
  return Normalize(text, out);
}

Status BertNormalizer::NormalizeTracked(std::string_view text, size_t* inserted,
                                        std::string* out) const {
  if (*inserted == 0) return Normalize(text, out);
  // Steps that replace each character by another run out of characters.
  if (options_.clean_text || options_.handle_chinese_chars || options_.lowercase) {
    return ReferenceCrashes();
  }
  out->assign(text);
  if (!options_.strip_accents) return Status::OK();
  const std::vector<Change> changes = UnicodeForm(UnicodeForm::kNfd).Changes(text);
  std::string decomposed;
  ARROW_RETURN_NOT_OK(ApplyChanges(text, *inserted, 0, changes, &decomposed));
  return ApplyRemoval(decomposed, *inserted, IsAccent, out);
}

}  // namespace easydata::tokenizers
