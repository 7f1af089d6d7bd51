#include "tokenizers/normalize/alignment.h"

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

Status ReferenceCrashes() {
  return Status::Invalid(
      "the normalizer of tokenizer.json cannot take this text: a Replace whose pattern matches "
      "nothing put text before its first character, on which the reference library crashes in a "
      "later step; let the pattern match at least one character");
}

Status ApplyChanges(std::string_view text, size_t inserted, size_t removed_first,
                    const std::vector<Change>& changes, std::string* out) {
  const size_t left = utf8::CountCharacters(text.substr(inserted));
  size_t replaced = removed_first;
  out->assign(text.substr(0, inserted));
  for (const Change& change : changes) {
    if (change.change <= 0) {
      if (replaced >= left) return ReferenceCrashes();
      replaced += static_cast<size_t>(1 - change.change);
    }
    utf8::Append(change.character, out);
  }
  return Status::OK();
}

size_t CountOrigin(const std::vector<Change>& changes, size_t origin) {
  size_t size = 0;
  size_t next = 0;  // of the characters before
  for (const Change& change : changes) {
    const size_t index = change.change > 0 && next > 0 ? next - 1 : next;
    if (index >= origin) break;
    size += utf8::Size(change.character);
    if (change.change <= 0) next += static_cast<size_t>(1 - change.change);
  }
  return size;
}

Status ApplyRemoval(std::string_view text, size_t inserted, bool (*drops)(char32_t),
                    std::string* out) {
  std::vector<Change> changes;
  size_t removed_first = 0;
  for (const char *p = text.data(), *end = p + text.size(); p < end;) {
    const utf8::CodePoint c = utf8::Decode(p);
    p += c.length;
    if (!drops(c.value)) {
      changes.push_back({c.value, 0});
    } else if (changes.empty()) {
      ++removed_first;
    } else {
      --changes.back().change;
    }
  }
  return ApplyChanges(text, inserted, removed_first, changes, out);
}

}  // namespace easydata::tokenizers
