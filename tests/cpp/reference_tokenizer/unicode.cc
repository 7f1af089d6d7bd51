#include "reference_tokenizer/unicode.h"

#include <cctype>
#include <map>
#include <utility>

#include "tokenizers/regex/character_set_tables.h"
#include "tokenizers/unicode_tables.h"

namespace easydata::tokenizers::reference {
namespace {

namespace tables = unicode_tables;
namespace sets = character_set_tables;

// Bits of kPropertyRanges.
constexpr int kClassMask = 3;
constexpr int kSpace = 3;
constexpr int kWord = 4;
constexpr int kNumeric = 16;
constexpr int kPunctuation = 32;

using Table = std::vector<uint8_t>;

Table Spread(const tables::CodePointRange* ranges, size_t count) {
  Table table(0x110000);
  for (size_t i = 0; i < count; ++i) {
    for (uint32_t c = ranges[i].first; c <= ranges[i].last; ++c) table[c] = ranges[i].value;
  }
  return table;
}

int PropertyOf(char32_t c) {
  static const Table table = Spread(tables::kPropertyRanges, tables::kNumPropertyRanges);
  return table[c];
}

int EditOf(char32_t c) {
  static const Table table = Spread(tables::kEditRanges, tables::kNumEditRanges);
  return table[c];
}

int GraphemeOf(char32_t c) {
  static const Table table = Spread(tables::kGraphemeRanges, tables::kNumGraphemeRanges);
  if (c >= 0xAC00 && c < 0xAC00 + 11172) {
    // LV behaves as V before what follows, LVT as T; as L before: see IsSyllable.
    return (c - 0xAC00) % 28 == 0 ? tables::kHangulV : tables::kHangulT;
  }
  return table[c];
}

bool IsSyllable(char32_t c) { return c >= 0xAC00 && c < 0xAC00 + 11172; }

std::map<char32_t, Chars> Decompositions(const tables::Decomposition* entries, size_t count) {
  std::map<char32_t, Chars> map;
  for (size_t i = 0; i < count; ++i) {
    const char32_t* begin = tables::kDecompositionPool + entries[i].offset;
    map[entries[i].code_point] = Chars(begin, begin + entries[i].length);
  }
  return map;
}

bool IsBreak(const Chars& chars, size_t at) {
  const char32_t before = chars[at - 1], behind = chars[at];
  if (before == '\r' && behind == '\n') return false;
  const int left = GraphemeOf(before) & tables::kClassMask;
  const int right = GraphemeOf(behind) & tables::kClassMask;
  if (left == tables::kControl || right == tables::kControl) return true;
  if (left == tables::kHangulL &&
      (IsSyllable(behind) || right == tables::kHangulL || right == tables::kHangulV)) {
    return false;
  }
  if (!IsSyllable(behind)) {
    if (left == tables::kHangulV && (right == tables::kHangulV || right == tables::kHangulT)) {
      return false;
    }
    if (left == tables::kHangulT && right == tables::kHangulT) return false;
  }
  if (right == tables::kExtend || right == tables::kZeroWidthJoiner ||
      right == tables::kSpacingMark || left == tables::kPrepend) {
    return false;
  }
  if (right == tables::kConsonant) {  // consonant, marks with a linker among them, consonant
    bool linked = false;
    for (size_t i = at; i-- > 0;) {
      const int value = GraphemeOf(chars[i]);
      if ((value & tables::kLinkerBit) != 0) {
        linked = true;
      } else if ((value & tables::kConjunctExtendBit) == 0) {
        if (linked && (value & tables::kClassMask) == tables::kConsonant) return false;
        break;
      }
    }
  }
  if (left == tables::kZeroWidthJoiner && right == tables::kPictograph) {
    for (size_t i = at - 1; i-- > 0;) {
      const int value = GraphemeOf(chars[i]) & tables::kClassMask;
      if (value == tables::kPictograph) return false;
      if (value != tables::kExtend) break;
    }
  }
  return true;
}

}  // namespace

const std::vector<bool>& RegexClass(const std::string& name) {
  static std::map<std::string, std::vector<bool>> classes;
  const auto known = classes.find(name);
  if (known != classes.end()) return known->second;
  std::string key;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != ' ') key.push_back(static_cast<char>(std::tolower(c)));
  }
  if (name == "s") key = "whitespace";
  if (name == "d") key = "nd";
  if (name == "w") key = "word";
  if (name == "h") key = "asciihexdigit";
  std::vector<bool> members(0x110000);
  bool found = false;
  for (size_t i = 0; i < sets::kNumSetNames; ++i) {
    const sets::SetName& entry = sets::kSetNames[i];
    if (entry.name != key) continue;
    found = true;
    const auto take = [&](const sets::SetRange* ranges, size_t count) {
      for (size_t k = 0; k < count; ++k) {
        if (ranges[k].value != entry.value) continue;
        for (uint32_t c = ranges[k].first; c <= ranges[k].last; ++c) members[c] = true;
      }
    };
    if (entry.kind == sets::SetKind::kCategory) {
      take(sets::kCategoryRanges, sets::kNumCategoryRanges);
    } else if (entry.kind == sets::SetKind::kScript) {
      take(sets::kScriptRanges, sets::kNumScriptRanges);
    } else {
      take(sets::kPropertyRanges, sets::kNumPropertyRanges);
    }
  }
  if (!found) throw NotCovered("the regex class " + name);
  return classes[name] = members;
}

bool IsSpace(char32_t c) { return (PropertyOf(c) & kClassMask) == kSpace; }
bool IsNumeric(char32_t c) { return (PropertyOf(c) & kNumeric) != 0; }
bool IsWord(char32_t c) { return (PropertyOf(c) & kWord) != 0; }
bool IsPunctuation(char32_t c) { return (PropertyOf(c) & kPunctuation) != 0; }
bool IsNonspacingMark(char32_t c) { return (EditOf(c) & tables::kAccent) != 0; }
bool IsOther(char32_t c) { return (EditOf(c) & tables::kBertDropped) != 0; }
bool IsCombiningMark(char32_t c) { return (EditOf(c) & tables::kMark) != 0; }

Chars ToLower(char32_t c) {
  static const std::map<char32_t, char32_t> lowercase = [] {
    std::map<char32_t, char32_t> map;
    for (size_t i = 0; i < tables::kNumCaseRanges; ++i) {
      const tables::CaseRange& range = tables::kCaseRanges[i];
      for (uint32_t from = range.first; from <= range.last; from += range.step) {
        map[from] = static_cast<char32_t>(static_cast<int64_t>(from) + range.by);
      }
    }
    return map;
  }();
  if (c == 0x130) return {0x69, 0x307};
  const auto found = lowercase.find(c);
  return Chars(1, found == lowercase.end() ? c : found->second);
}

Chars Decompose(char32_t c, bool compatibility) {
  static const auto canonical = Decompositions(tables::kDecompositions, tables::kNumDecompositions);
  static const auto other =
      Decompositions(tables::kCompatibilityDecompositions, tables::kNumCompatibilityDecompositions);
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
  static const Table table =
      Spread(tables::kCombiningClassRanges, tables::kNumCombiningClassRanges);
  return table[c];
}

char32_t Compose(char32_t first, char32_t second) {
  static const auto compositions = [] {
    std::map<std::pair<char32_t, char32_t>, char32_t> map;
    for (size_t i = 0; i < tables::kNumCompositions; ++i) {
      const tables::Composition& entry = tables::kCompositions[i];
      map[{entry.first, entry.second}] = entry.composed;
    }
    return map;
  }();
  if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176) {
    return 0xAC00 + (first - 0x1100) * 588 + (second - 0x1161) * 28;
  }
  if (IsSyllable(first) && (first - 0xAC00) % 28 == 0 && second > 0x11A7 && second < 0x11C3) {
    return first + second - 0x11A7;
  }
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
  static const Table table = Spread(tables::kScriptRanges, tables::kNumScriptRanges);
  return table[c];
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
