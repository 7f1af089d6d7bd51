#include "reference_tokenizer/normalizer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "reference_tokenizer/regex.h"
#include "reference_tokenizer/unicode.h"

namespace easydata::tokenizers::reference {
namespace {

using nlohmann::json;

struct Marked {
  Change change;
  int combining_class;
};

// Runs of marks in the order of their classes; marks of one class keep theirs.
void SortMarks(std::vector<Marked>* chars) {
  for (auto begin = chars->begin(); begin != chars->end();) {
    auto end = begin;
    while (end != chars->end() && end->combining_class != 0) ++end;
    std::stable_sort(begin, end, [](const Marked& a, const Marked& b) {
      return a.combining_class < b.combining_class;
    });
    begin = end == chars->end() ? end : end + 1;
  }
}

std::vector<Change> ComposeMarks(const std::vector<Marked>& chars) {
  std::vector<Change> out;
  ptrdiff_t starter = -1;
  int last_class = 0;  // of what stands between the starter and here
  for (const Marked& marked : chars) {
    const char32_t composed =
        starter >= 0 ? Compose(out[static_cast<size_t>(starter)].c, marked.change.c) : 0;
    const bool blocked =
        static_cast<ptrdiff_t>(out.size()) - 1 > starter && last_class >= marked.combining_class;
    if (composed != 0 && !blocked) {
      Change& into = out[static_cast<size_t>(starter)];
      into = {composed, into.change + marked.change.change - 1};
      continue;
    }
    if (marked.combining_class == 0) starter = static_cast<ptrdiff_t>(out.size());
    last_class = marked.combining_class;
    out.push_back(marked.change);
  }
  return out;
}

void NormalizeForm(Text* text, bool compatibility, bool compose) {
  std::vector<Marked> chars;
  for (const char32_t c : text->chars()) {
    int change = 0;
    for (const char32_t part : Decompose(c, compatibility)) {
      chars.push_back({{part, change}, CombiningClass(part)});
      change = 1;
    }
  }
  SortMarks(&chars);
  std::vector<Change> changes;
  if (compose) {
    changes = ComposeMarks(chars);
  } else {
    for (const Marked& marked : chars) changes.push_back(marked.change);
  }
  text->Transform(changes);
}

void Lowercase(Text* text) {
  std::vector<Change> changes;
  for (const char32_t c : text->chars()) {
    int change = 0;
    for (const char32_t lower : ToLower(c)) {
      changes.push_back({lower, change});
      change = 1;
    }
  }
  text->Transform(changes);
}

void ByteLevel(Text* text) {
  std::vector<Change> changes;
  for (const char32_t c : text->chars()) {
    int change = 0;
    for (const char byte : ToUtf8(Chars(1, c))) {
      changes.push_back({ByteCharacter(static_cast<unsigned char>(byte)), change});
      change = 1;
    }
  }
  if (!text->empty()) text->Transform(changes);
}

void Nmt(Text* text) {
  text->Filter([](char32_t c) {
    return !((c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F ||
             c == 0x9F);
  });
  text->Map([](char32_t c) -> char32_t {
    const bool to_space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                          (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                          c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    return to_space ? ' ' : c;
  });
}

bool IsChinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
      {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const auto& range) { return range.first <= c && c <= range.second; });
}

Normalizer MakeBertNormalizer(const json& component) {
  const bool clean = BoolAt(component, "clean_text");
  const bool chinese = BoolAt(component, "handle_chinese_chars");
  const bool lowercase = BoolAt(component, "lowercase");
  const bool strip = BoolOr(component, "strip_accents", lowercase);
  return [=](Text* text) {
    if (clean) {
      text->Filter([](char32_t c) {
        const bool plain_space = c == '\t' || c == '\n' || c == '\r';
        return c != 0 && c != 0xFFFD && (plain_space || !IsOther(c));
      });
      text->Map([](char32_t c) -> char32_t { return IsSpace(c) ? ' ' : c; });
    }
    if (chinese) {
      std::vector<Change> changes;
      for (const char32_t c : text->chars()) {
        if (IsChinese(c)) {
          changes.insert(changes.end(), {{' ', 0}, {c, 1}, {' ', 1}});
        } else {
          changes.push_back({c, 0});
        }
      }
      text->Transform(changes);
    }
    if (strip) {
      NormalizeForm(text, false, false);
      text->Filter([](char32_t c) { return !IsNonspacingMark(c); });
    }
    if (lowercase) Lowercase(text);
  };
}

std::string FromBase64(const std::string& text) {
  static const std::string kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const size_t value = kAlphabet.find(c);
    if (value == std::string::npos) throw NotCovered("a charsmap that is not base64");
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

// SentencePiece's charsmap: a double array of keys, values that point into a string of
// replacements, each closed by a zero byte.
class Charsmap {
 public:
  explicit Charsmap(const std::string& blob) {
    const auto word = [&](size_t at) {
      if (at + 4 > blob.size()) throw NotCovered("a charsmap that ends early");
      uint32_t value = 0;
      for (size_t k = 4; k-- > 0;) value = value << 8 | static_cast<unsigned char>(blob[at + k]);
      return value;
    };
    const size_t units = word(0) / 4;
    for (size_t i = 0; i < units; ++i) units_.push_back(word(4 + 4 * i));
    replacements_ = blob.substr(4 + 4 * units);
    FromUtf8(replacements_);
    if (units_.empty()) throw NotCovered("a charsmap without keys");
  }

  // The replacement of the shortest key that `chunk` starts with; whether there is one.
  bool Find(const std::string& chunk, std::string* replacement) const {
    size_t node = OffsetOf(UnitAt(0));
    for (const char c : chunk) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) return false;
      node ^= byte;
      const uint32_t unit = UnitAt(node);
      if ((unit & 0x800000FF) != byte) return false;
      node ^= OffsetOf(unit);
      if ((unit >> 8 & 1) == 0) continue;
      const size_t begin = UnitAt(node) & 0x7FFFFFFF;
      if (begin > replacements_.size()) throw LibraryFailure("a replacement beyond the charsmap");
      *replacement = replacements_.substr(begin, replacements_.find('\0', begin) - begin);
      return true;
    }
    return false;
  }

 private:
  uint32_t UnitAt(size_t i) const {
    if (i >= units_.size()) throw LibraryFailure("a unit beyond the charsmap");
    return units_[i];
  }
  static size_t OffsetOf(uint32_t unit) {
    return static_cast<size_t>(unit >> 10) << ((unit & 1u << 9) >> 6);
  }

  std::vector<uint32_t> units_;
  std::string replacements_;
};

void Replaced(const Chars& old_part, const Chars& new_part, std::vector<Change>* changes) {
  for (const char32_t c : new_part) changes->push_back({c, 0});
  const auto difference =
      static_cast<ptrdiff_t>(new_part.size()) - static_cast<ptrdiff_t>(old_part.size());
  if (difference < 0) {
    if (!changes->empty()) changes->back().change += static_cast<int>(difference);
  } else {
    for (ptrdiff_t i = 0; i < difference; ++i) changes->rbegin()[i].change = 1;
  }
}

Normalizer MakePrecompiled(const json& component) {
  auto charsmap =
      std::make_shared<Charsmap>(FromBase64(StringAt(component, "precompiled_charsmap")));
  return [charsmap](Text* text) {
    std::vector<Change> changes;
    bool modified = false;
    size_t begin = 0;
    const auto replace = [&](const Chars& part) {
      std::string replacement;
      if (!charsmap->Find(ToUtf8(part), &replacement)) return false;
      Replaced(part, FromUtf8(replacement), &changes);
      return modified = true;
    };
    for (const size_t end : GraphemeEnds(text->chars())) {
      const Chars cluster = text->chars().substr(begin, end - begin);
      begin = end;
      if (ToUtf8(cluster).size() < 6 && replace(cluster)) continue;
      for (const char32_t c : cluster) {
        if (!replace(Chars(1, c))) changes.push_back({c, 0});
      }
    }
    if (modified) text->Transform(changes);
  };
}

Normalizer MakeSequence(const json& component) {
  std::vector<Normalizer> steps;
  for (const json& step : component.at("normalizers")) steps.push_back(MakeNormalizer(step));
  return [steps](Text* text) {
    for (const Normalizer& step : steps) step(text);
  };
}

}  // namespace

bool BoolAt(const json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_boolean()) {
    throw NotCovered(std::string("no truth value ") + key);
  }
  return member->get<bool>();
}

std::string StringAt(const json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_string()) {
    throw NotCovered(std::string("no string ") + key);
  }
  return member->get<std::string>();
}

bool BoolOr(const json& object, const char* key, bool otherwise) {
  const auto member = object.find(key);
  return member == object.end() || member->is_null() ? otherwise : BoolAt(object, key);
}

std::function<std::vector<Cut>(const Chars&)> MakePattern(const json& pattern) {
  const bool literal = pattern.contains("String");
  const Chars text = FromUtf8(StringAt(pattern, literal ? "String" : "Regex"));
  auto regex = std::make_shared<Regex>(literal ? Escape(text) : text);
  return [regex](const Chars& chars) { return regex->FindAll(chars); };
}

Normalizer MakeNormalizer(const json& component) {
  if (component.is_null()) return [](Text*) {};
  const std::string type = component.contains("type") ? StringAt(component, "type")
                           : component.contains("prepend") && component.size() == 1
                               ? "Prepend"
                               : throw NotCovered("a normalizer without a type");
  if (type == "NFC") return [](Text* text) { NormalizeForm(text, false, true); };
  if (type == "NFD") return [](Text* text) { NormalizeForm(text, false, false); };
  if (type == "NFKC") return [](Text* text) { NormalizeForm(text, true, true); };
  if (type == "NFKD") return [](Text* text) { NormalizeForm(text, true, false); };
  if (type == "Lowercase") return Lowercase;
  if (type == "ByteLevel") return ByteLevel;
  if (type == "Nmt") return Nmt;
  if (type == "BertNormalizer") return MakeBertNormalizer(component);
  if (type == "Precompiled") return MakePrecompiled(component);
  if (type == "Sequence") return MakeSequence(component);
  if (type == "StripAccents") {
    return [](Text* text) { text->Filter([](char32_t c) { return !IsCombiningMark(c); }); };
  }
  if (type == "Strip") {
    const bool left = BoolAt(component, "strip_left");
    const bool right = BoolAt(component, "strip_right");
    return [=](Text* text) { text->Strip(left, right, IsSpace); };
  }
  if (type == "Prepend") {
    const Chars prefix = FromUtf8(StringAt(component, "prepend"));
    return [=](Text* text) { text->Prepend(prefix); };
  }
  if (type == "Replace") {
    const auto pattern = MakePattern(component.at("pattern"));
    const Chars content = FromUtf8(StringAt(component, "content"));
    return [=](Text* text) { text->Replace(pattern(text->chars()), content); };
  }
  throw NotCovered("normalizer " + type);
}

}  // namespace easydata::tokenizers::reference
