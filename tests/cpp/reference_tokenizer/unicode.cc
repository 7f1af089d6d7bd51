#include "reference_tokenizer/unicode.h"

#include <map>
#include <span>
#include <utility>

#include "reference_tokenizer/unicode_data.h"

namespace easydata::tokenizers::reference {
namespace {

namespace data = unicode_data;

constexpr size_t kNumCodePoints = 0x110000;

std::vector<bool> Members(std::span<const data::Range> ranges) {
  std::vector<bool> members(kNumCodePoints);
  for (const data::Range& range : ranges) {
    for (char32_t c = range.first; c <= range.last; ++c) members[c] = true;
  }
  return members;
}

std::vector<int> Values(std::span<const data::ValueRange> ranges) {
  std::vector<int> values(kNumCodePoints);
  for (const data::ValueRange& range : ranges) {
    for (char32_t c = range.first; c <= range.last; ++c) values[c] = range.value;
  }
  return values;
}

std::map<char32_t, Chars> MapOf(std::span<const data::Mapping> mappings) {
  std::map<char32_t, Chars> map;
  for (const data::Mapping& mapping : mappings) map[mapping.from] = mapping.to;
  return map;
}

constexpr size_t kNumSyllables = 11172;

bool IsSyllable(char32_t c) { return c >= 0xAC00 && c < 0xAC00 + kNumSyllables; }
bool IsOpenSyllable(char32_t c) { return IsSyllable(c) && (c - 0xAC00) % 28 == 0; }

int BreakOf(char32_t c) {
  static const std::vector<int> values = Values(data::kGraphemeBreaks);
  return values[c];
}

int ConjunctBreakOf(char32_t c) {
  static const std::vector<int> values = Values(data::kConjunctBreaks);
  return values[c];
}

// CR and LF are kinds of their own to Unicode, but end clusters as controls do.
bool IsControl(char32_t c) { return c == '\r' || c == '\n' || BreakOf(c) == data::kControl; }

// Whether a grapheme cluster ends before chars[at]: the rules of Unicode Standard Annex 29.
bool IsBreak(const Chars& chars, size_t at) {
  const char32_t last = chars[at - 1], next = chars[at];
  const int left = BreakOf(last), right = BreakOf(next);
  if (last == '\r' && next == '\n') return false;       // GB3
  if (IsControl(last) || IsControl(next)) return true;  // GB4, GB5
  const bool next_is_vowel = right == data::kVowelJamo;
  const bool next_is_trailing = right == data::kTrailingJamo;
  if (left == data::kLeadingJamo &&
      (right == data::kLeadingJamo || next_is_vowel || IsSyllable(next))) {
    return false;  // GB6
  }
  if ((left == data::kVowelJamo || IsOpenSyllable(last)) && (next_is_vowel || next_is_trailing)) {
    return false;  // GB7
  }
  if ((left == data::kTrailingJamo || IsSyllable(last)) && next_is_trailing) return false;  // GB8
  if (right == data::kExtend || right == data::kZeroWidthJoiner || right == data::kSpacingMark ||
      left == data::kPrepend) {
    return false;  // GB9, GB9a, GB9b
  }
  if (ConjunctBreakOf(next) == data::kConsonant) {  // GB9c
    bool linked = false;
    size_t i = at;
    for (; i > 0; --i) {
      const int conjunct = ConjunctBreakOf(chars[i - 1]);
      if (conjunct != data::kLinker && conjunct != data::kConjunctExtend) break;
      linked = linked || conjunct == data::kLinker;
    }
    if (linked && i > 0 && ConjunctBreakOf(chars[i - 1]) == data::kConsonant) return false;
  }
  if (left == data::kZeroWidthJoiner && right == data::kPictographic) {  // GB11
    size_t i = at - 1;
    while (i > 0 && BreakOf(chars[i - 1]) == data::kExtend) --i;
    if (i > 0 && BreakOf(chars[i - 1]) == data::kPictographic) return false;
  }
  return true;
}

// Whether a class of the regex engine is `name`, or a part of the category that one letter names.
bool IsPartOf(const std::string& part, const std::string& name) {
  const bool is_category = part.size() == 2;
  return part == name || (is_category && name.size() == 1 && part[0] == name[0]);
}

}  // namespace

const std::vector<bool>& RegexClass(const std::string& name) {
  static std::map<std::string, std::vector<bool>> classes;
  const auto known = classes.find(name);
  if (known != classes.end()) return known->second;
  std::vector<bool> members(kNumCodePoints);
  if (name == "s") {
    members = Members(data::kWhiteSpace);
  } else if (name == "h") {
    for (const char c : std::string("0123456789abcdefABCDEF")) members[c] = true;
  } else {
    bool found = false;
    for (const data::ClassRange& range : data::kClasses) {
      if (!IsPartOf(range.name, name == "d" ? "Nd" : name)) continue;
      found = true;
      for (char32_t c = range.first; c <= range.last; ++c) members[c] = true;
    }
    if (!found) throw NotCovered("the regex class " + name);
  }
  return classes[name] = members;
}

bool IsSpace(char32_t c) {
  static const std::vector<bool> members = Members(data::kWhiteSpace);
  return members[c];
}

bool IsNumeric(char32_t c) {
  static const std::vector<bool> members = Members(data::kNumeric);
  return members[c];
}

bool IsWord(char32_t c) {
  static const std::vector<bool> members = Members(data::kWord);
  return members[c];
}

bool IsPunctuation(char32_t c) {
  static const std::vector<bool> members = Members(data::kPunctuation);
  return members[c];
}

bool IsNonspacingMark(char32_t c) {
  static const std::vector<bool> members = Members(data::kNonspacingMarks);
  return members[c];
}

bool IsOther(char32_t c) {
  static const std::vector<bool> members = Members(data::kOther);
  return members[c];
}

bool IsCombiningMark(char32_t c) {
  static const std::vector<bool> members = Members(data::kCombiningMarks);
  return members[c];
}

Chars ToLower(char32_t c) {
  static const auto lowercase = MapOf(data::kLowercase);
  const auto found = lowercase.find(c);
  return found == lowercase.end() ? Chars(1, c) : found->second;
}

Chars Decompose(char32_t c, bool compatibility) {
  static const auto canonical = MapOf(data::kCanonicalDecompositions);
  static const auto other = MapOf(data::kCompatibilityDecompositions);
  if (IsSyllable(c)) {
    const char32_t index = c - 0xAC00;
    Chars jamo = {0x1100 + index / 588, 0x1161 + index % 588 / 28};
    if (index % 28 != 0) jamo.push_back(0x11A7 + index % 28);
    return jamo;
  }
  if (compatibility && other.contains(c)) return other.at(c);
  return canonical.contains(c) ? canonical.at(c) : Chars(1, c);
}

int CombiningClass(char32_t c) {
  static const std::vector<int> values = Values(data::kCombiningClasses);
  return values[c];
}

char32_t Compose(char32_t first, char32_t second) {
  static const auto compositions = [] {
    std::map<std::pair<char32_t, char32_t>, char32_t> map;
    for (const data::Composition& entry : data::kCompositions) {
      map[{entry.first, entry.second}] = entry.composed;
    }
    return map;
  }();
  if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176) {
    return 0xAC00 + (first - 0x1100) * 588 + (second - 0x1161) * 28;
  }
  if (IsOpenSyllable(first) && second > 0x11A7 && second < 0x11C3) return first + second - 0x11A7;
  const auto found = compositions.find({first, second});
  return found == compositions.end() ? 0 : found->second;
}

std::vector<size_t> GraphemeEnds(const Chars& chars) {
  std::vector<size_t> ends;
  for (size_t at = 1; at < chars.size(); ++at) {
    if (IsBreak(chars, at)) ends.push_back(at);
  }
  if (!chars.empty()) ends.push_back(chars.size());
  return ends;
}

int ScriptOf(char32_t c) {
  static const std::vector<int> values = Values(data::kScripts);
  return values[c];
}

char32_t ByteCharacter(unsigned char byte) {
  static const std::vector<char32_t> alphabet = [] {
    std::vector<char32_t> characters(256);
    char32_t next = 256;
    for (char32_t b = 0; b < 256; ++b) {
      const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
      characters[b] = printable ? b : next++;
    }
    return characters;
  }();
  return alphabet[byte];
}

}  // namespace easydata::tokenizers::reference
