#include "tokenizers/regex/set_parser.h"

#include <utility>

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

constexpr int kMaxSetDepth = 50;

// The name of a POSIX bracket as CharacterSet::Named knows it.
std::optional<CharacterSet> PosixSet(std::string_view name) {
  for (const char* known : {"alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print",
                            "space", "upper", "xdigit", "word"}) {
    if (name == known) return CharacterSet::Named(name);
  }
  if (name == "punct") return CharacterSet::Named("posixpunct");
  if (name == "ascii") return CharacterSet(0, 0x7F);
  return std::nullopt;
}

// Adds up what stands between [ and ].
class SetBuilder {
 public:
  bool is_empty() const { return state_ == State::kStart; }
  bool in_range() const { return state_ == State::kRange; }
  /// Whether a - may make a range with the character before it.
  bool may_start_range() const { return state_ == State::kCharacter; }

  /// Whether a - stands for itself since a range or a set in brackets has just ended.
  bool is_behind_range() const { return state_ == State::kEnded; }

  void StartRange() { state_ = State::kRange; }

  /// Returns false for a range that ends before it begins.
  bool AddCharacter(char32_t c) {
    if (state_ == State::kRange) {
      if (c < last_) return false;
      ranges_.push_back({last_, c});
      state_ = State::kEnded;
      return true;
    }
    ranges_.push_back({c, c});
    last_ = c;
    state_ = State::kCharacter;
    return true;
  }

  void AddClass(const CharacterSet& set) {
    ranges_.insert(ranges_.end(), set.ranges().begin(), set.ranges().end());
    state_ = State::kClass;
  }

  void AddBracketed(const CharacterSet& set) {
    AddClass(set);
    state_ = State::kEnded;
  }

  void Intersect() {
    CharacterSet set(std::exchange(ranges_, {}));
    if (before_and_) set = before_and_->Intersection(set);
    before_and_ = std::move(set);
    state_ = State::kStart;
  }

  CharacterSet Finish() {
    if (!before_and_) return CharacterSet(std::move(ranges_));
    Intersect();
    return *std::move(before_and_);
  }

 private:
  enum class State { kStart, kCharacter, kRange, kClass, kEnded };

  State state_ = State::kStart;
  char32_t last_ = 0;
  std::vector<CharacterSet::Range> ranges_;
  std::optional<CharacterSet> before_and_;
};

Result<ParsedSet> ParseSetAt(PatternReader* reader, int depth) {
  if (depth > kMaxSetDepth) return reader->Refuse("sets in sets in sets");
  ParsedSet parsed;
  parsed.negated = reader->Take('^');
  if (reader->Peek(']')) return reader->Refuse("a set that starts with ]");
  SetBuilder builder;
  for (;;) {
    if (reader->at_end()) return reader->Refuse("a [ without its ]");
    if (reader->Take(']')) break;
    if (reader->TakeAll("&&")) {
      if (builder.in_range()) return reader->Refuse("a range of characters that has no end");
      builder.Intersect();
      continue;
    }
    if (reader->Peek('-') && !builder.is_empty() && !builder.in_range()) {
      reader->Take('-');
      const bool is_last = reader->Peek(']') || reader->PeekAll("&&");
      if (is_last || builder.is_behind_range()) {
        builder.AddCharacter('-');
      } else if (builder.may_start_range()) {
        builder.StartRange();
      } else {
        return reader->Refuse("a - behind a class of characters");
      }
      continue;
    }
    if (reader->Take('[')) {
      if (builder.in_range()) return reader->Refuse("a set at the end of a range");
      if (reader->Take(':')) {
        const bool negated = reader->Take('^');
        std::string name;
        while (!reader->at_end() && !reader->Peek(':')) utf8::Append(reader->Next(), &name);
        const std::optional<CharacterSet> set = PosixSet(name);
        if (!set || !reader->TakeAll(":]")) return reader->Refuse("[: that is no POSIX bracket");
        builder.AddClass(negated ? set->Complement() : *set);
        continue;
      }
      ARROW_ASSIGN_OR_RAISE(ParsedSet inner, ParseSetAt(reader, depth + 1));
      builder.AddBracketed(inner.negated ? inner.set.Complement() : inner.set);
      continue;
    }
    SetEscape item;
    if (reader->Take('\\')) {
      ARROW_ASSIGN_OR_RAISE(item, ParseSetEscape(reader, /*in_brackets=*/true));
    } else {
      item.character = reader->Next();
    }
    if (item.is_set) {
      if (builder.in_range()) return reader->Refuse("a set at the end of a range");
      builder.AddClass(item.set);
    } else if (!builder.AddCharacter(item.character)) {
      return reader->Refuse("a range of characters that ends before it begins");
    }
  }
  if (builder.in_range()) return reader->Refuse("a range of characters that has no end");
  parsed.set = builder.Finish();
  return parsed;
}

Result<SetEscape> SetOf(PatternReader* reader, std::string_view name, bool negated,
                        bool in_brackets) {
  std::optional<CharacterSet> set = CharacterSet::Named(name);
  if (!set || name.find('\\') != std::string_view::npos) {
    return reader->Refuse("the property ", name);
  }
  if (!in_brackets && *set == *CharacterSet::Named("word")) set = BareWordSet();
  SetEscape escape;
  escape.is_set = true;
  escape.set = negated ? set->Complement() : *std::move(set);
  return escape;
}

Result<SetEscape> CharacterNumbered(PatternReader* reader, char32_t c) {
  if (c > CharacterSet::kMax || (c >= 0xD800 && c < 0xE000)) {
    return reader->Refuse("the number of a character that does not exist");
  }
  SetEscape escape;
  escape.character = c;
  escape.is_numbered = true;
  return escape;
}

}  // namespace

char32_t PatternReader::Next() {
  const utf8::CodePoint c = utf8::Decode(pattern_.data() + position_);
  position_ += static_cast<size_t>(c.length);
  return c.value;
}

bool PatternReader::TakeAll(std::string_view text) {
  if (!pattern_.substr(position_).starts_with(text)) return false;
  position_ += text.size();
  return true;
}

std::optional<int> PatternReader::ReadDecimal() {
  int value = 0;
  int digits = 0;
  for (; digits < 7 && !at_end() && pattern_[position_] >= '0' && pattern_[position_] <= '9';
       ++digits) {
    value = value * 10 + (pattern_[position_++] - '0');
  }
  return digits == 0 ? std::nullopt : std::optional(value);
}

std::optional<char32_t> PatternReader::ReadHexadecimal(int max_digits) {
  char32_t value = 0;
  int digits = 0;
  for (; digits < max_digits && !at_end(); ++digits) {
    const char c = pattern_[position_];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) break;
    value = value * 16 + static_cast<char32_t>(digit);
    ++position_;
  }
  return digits == 0 ? std::nullopt : std::optional(value);
}

CharacterSet BareWordSet() { return *CharacterSet::Named("\\w"); }

Result<SetEscape> ParseSetEscape(PatternReader* reader, bool in_brackets) {
  if (reader->at_end()) return reader->Refuse("a \\ at the end");
  SetEscape escape;
  const char32_t c = reader->Next();
  switch (c) {
    case 's':
    case 'S':
      return SetOf(reader, "space", c == 'S', in_brackets);
    case 'd':
    case 'D':
      return SetOf(reader, "digit", c == 'D', in_brackets);
    case 'w':
    case 'W':
      return SetOf(reader, "word", c == 'W', in_brackets);
    case 'h':
    case 'H':
      return SetOf(reader, "xdigit", c == 'H', in_brackets);
    case 'p':
    case 'P': {
      if (!reader->Take('{')) return reader->Refuse("\\p without {");
      const bool negated = reader->Take('^') != (c == 'P');
      std::string name;
      while (!reader->at_end() && !reader->Peek('}')) utf8::Append(reader->Next(), &name);
      if (!reader->Take('}')) return reader->Refuse("\\p{ without }");
      return SetOf(reader, name, negated, in_brackets);
    }
    case 'x': {
      const bool braces = reader->Take('{');
      const std::optional<char32_t> value = reader->ReadHexadecimal(braces ? 6 : 2);
      if (!value || (braces ? !reader->Take('}') : *value >= 0x80)) {
        return reader->Refuse("\\x that is not one character in hexadecimal digits");
      }
      return CharacterNumbered(reader, *value);
    }
    case 'u': {
      const size_t before = reader->position();
      const std::optional<char32_t> value = reader->ReadHexadecimal(4);
      if (!value || reader->position() - before != 4) {
        return reader->Refuse("\\u that is not followed by four hexadecimal digits");
      }
      return CharacterNumbered(reader, *value);
    }
    case 't':
      escape.character = '\t';
      return escape;
    case 'n':
      escape.character = '\n';
      return escape;
    case 'r':
      escape.character = '\r';
      return escape;
    case 'f':
      escape.character = '\f';
      return escape;
    case 'v':
      escape.character = '\v';
      return escape;
    case 'a':
      escape.character = '\a';
      return escape;
    case 'e':
      escape.character = 0x1B;
      return escape;
    case 'b':
      escape.character = '\b';
      return escape;
    default:
      break;
  }
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
    return reader->Refuse("the escape \\", std::string(1, static_cast<char>(c)));
  }
  escape.character = c;
  return escape;
}

Result<ParsedSet> ParseSet(PatternReader* reader) { return ParseSetAt(reader, 0); }

}  // namespace easydata::tokenizers
