#include "tokenizers/regex/character_set.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tokenizers/regex/character_set_tables.h"

namespace easydata::tokenizers {
namespace {

using namespace character_set_tables;  // NOLINT

std::vector<CharacterSet::Range> Normalize(std::vector<CharacterSet::Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) {
    return a.first < b.first || (a.first == b.first && a.last < b.last);
  });
  std::vector<CharacterSet::Range> out;
  for (const CharacterSet::Range& range : ranges) {
    if (!out.empty() && range.first <= out.back().last + 1) {
      out.back().last = std::max(out.back().last, range.last);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

// The characters of kFoldedCharacters in order, each with its key.
const std::vector<FoldedCharacter>& FoldsByCharacter() {
  static const std::vector<FoldedCharacter> folds = [] {
    std::vector<FoldedCharacter> sorted(kFoldedCharacters,
                                        kFoldedCharacters + kNumFoldedCharacters);
    std::sort(sorted.begin(), sorted.end(),
              [](const auto& a, const auto& b) { return a.code_point < b.code_point; });
    return sorted;
  }();
  return folds;
}

}  // namespace

CharacterSet::CharacterSet(std::vector<Range> ranges) : ranges_(Normalize(std::move(ranges))) {}

bool CharacterSet::Contains(char32_t c) const {
  const auto it = std::upper_bound(ranges_.begin(), ranges_.end(), c,
                                   [](char32_t value, const Range& r) { return value < r.first; });
  return it != ranges_.begin() && c <= std::prev(it)->last;
}

CharacterSet CharacterSet::Union(const CharacterSet& other) const {
  std::vector<Range> ranges = ranges_;
  ranges.insert(ranges.end(), other.ranges_.begin(), other.ranges_.end());
  return CharacterSet(std::move(ranges));
}

CharacterSet CharacterSet::Intersection(const CharacterSet& other) const {
  return Complement().Union(other.Complement()).Complement();
}

CharacterSet CharacterSet::Complement() const {
  CharacterSet out;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) out.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kMax) out.ranges_.push_back({next, kMax});
  return out;
}

std::optional<CharacterSet> CharacterSet::Named(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    plain.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c);
  }
  std::vector<Range> ranges;
  bool found = false;
  for (size_t i = 0; i < kNumSetNames; ++i) {
    const SetName& set = kSetNames[i];
    if (plain != set.name) continue;
    found = true;
    const bool category = set.kind == SetKind::kCategory;
    const bool script = set.kind == SetKind::kScript;
    const SetRange* all = category ? kCategoryRanges : script ? kScriptRanges : kPropertyRanges;
    const size_t count = category ? kNumCategoryRanges
                         : script ? kNumScriptRanges
                                  : kNumPropertyRanges;
    for (size_t k = 0; k < count; ++k) {
      if (all[k].value == set.value) ranges.push_back({all[k].first, all[k].last});
    }
  }
  if (!found) return std::nullopt;
  return CharacterSet(std::move(ranges));
}

CharacterSet CharacterSet::CaseFolded() const {
  std::vector<Range> ranges = ranges_;
  for (size_t i = 0; i < kNumFoldedCharacters;) {
    size_t end = i;
    bool any = false;
    for (; end < kNumFoldedCharacters && kFoldedCharacters[end].key == kFoldedCharacters[i].key;
         ++end) {
      any = any || Contains(kFoldedCharacters[end].code_point);
    }
    for (; i < end; ++i) {
      const char32_t c = kFoldedCharacters[i].code_point;
      if (any) ranges.push_back({c, c});
    }
  }
  return CharacterSet(std::move(ranges));
}

char32_t FoldKey(char32_t c) {
  const std::vector<FoldedCharacter>& folds = FoldsByCharacter();
  const auto it = std::lower_bound(
      folds.begin(), folds.end(), c,
      [](const FoldedCharacter& f, char32_t value) { return f.code_point < value; });
  return it != folds.end() && it->code_point == c ? it->key : c;
}

const CharacterSet& MultiFoldCharacters() {
  static const CharacterSet characters = [] {
    std::vector<CharacterSet::Range> ranges;
    for (size_t k = 0; k < kNumMultiFolds; ++k) {
      ranges.push_back({kMultiFolds[k].code_point, kMultiFolds[k].code_point});
    }
    return CharacterSet(std::move(ranges));
  }();
  return characters;
}

CharacterSet CharactersFoldingTo(std::u32string_view text) {
  std::vector<CharacterSet::Range> ranges;
  if (text.size() < 2 || text.size() > kMaxFold) return {};
  for (size_t k = 0; k < kNumMultiFolds; ++k) {
    const uint32_t* folded = kMultiFolds[k].folded;
    size_t same = 0;
    while (same < text.size() && folded[same] != 0 &&
           FoldKey(text[same]) == FoldKey(folded[same])) {
      ++same;
    }
    if (same == text.size() && (same == kMaxFold || folded[same] == 0)) {
      ranges.push_back({kMultiFolds[k].code_point, kMultiFolds[k].code_point});
    }
  }
  return CharacterSet(std::move(ranges));
}

}  // namespace easydata::tokenizers
