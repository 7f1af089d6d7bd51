#include "tokenizers/normalize/strip.h"

#include <algorithm>

#include "tokenizers/normalize/alignment.h"
#include "tokenizers/unicode_properties.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

std::string_view Strip::Stripped(std::string_view text) const {
  const UnicodeProperties& properties = UnicodeProperties::Get();
  const char* begin = text.data();
  const char* end = begin + text.size();
  while (left_ && begin < end) {
    const utf8::CodePoint c = utf8::Decode(begin);
    if (!properties.is_white_space(c.value)) break;
    begin += c.length;
  }
  while (right_ && begin < end) {
    const char* const last = utf8::Previous(end);
    if (!properties.is_white_space(utf8::Decode(last).value)) break;
    end = last;
  }
  return {begin, static_cast<size_t>(end - begin)};
}

bool Strip::IsInert(std::string_view text) const { return Stripped(text).size() == text.size(); }

Status Strip::Normalize(std::string_view text, std::string* out) const {
  out->assign(Stripped(text));
  return Status::OK();
}

Status Strip::NormalizeWithOrigin(std::string_view text, size_t* origin, std::string* out) const {
  const std::string_view kept = Stripped(text);
  const auto leading = static_cast<size_t>(kept.data() - text.data());
  *origin = std::clamp(*origin, leading, leading + kept.size()) - leading;
  out->assign(kept);
  return Status::OK();
}

Status Strip::NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const {
  const std::string_view kept = Stripped(text);
  if (*inserted == 0 || kept.size() == text.size()) {
    out->assign(kept);
    return Status::OK();
  }
  const auto leading = static_cast<size_t>(kept.data() - text.data());
  const size_t leading_characters = utf8::CountCharacters(text.substr(0, leading));
  const size_t trailing_characters = utf8::CountCharacters(text.substr(leading + kept.size()));
  // The reference means to tie what it cuts after the text to the last character, but finds that
  // one by counting bytes.
  const size_t tied = text.size() - trailing_characters - 1;
  std::vector<Change> changes;
  size_t index = leading_characters;
  for (const char *p = kept.data(), *end = p + kept.size(); p < end; ++index) {
    const utf8::CodePoint c = utf8::Decode(p);
    changes.push_back({c.value, index == tied ? -static_cast<int>(trailing_characters) : 0});
    p += c.length;
  }
  return ApplyChanges(text, *inserted, leading_characters, changes, out);
}

}  // namespace easydata::tokenizers
