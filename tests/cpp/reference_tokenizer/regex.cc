#include "reference_tokenizer/regex.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "reference_tokenizer/regex_nodes.h"
#include "reference_tokenizer/unicode.h"

namespace easydata::tokenizers::reference {

namespace {

Predicate Not(Predicate predicate) {
  return [predicate = std::move(predicate)](char32_t c) { return !predicate(c); };
}

Predicate ClassOf(const std::string& name) {
  const std::vector<bool>& members = RegexClass(name);
  return [&members](char32_t c) { return members[c]; };
}

bool IsAsciiLetter(char32_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' && c < 0x80; }

// Whether c is `letter` when the case of letters is ignored.
bool FoldsTo(char32_t c, char32_t letter) {
  const char32_t small = letter | 0x20;
  return (c < 0x80 && (c | 0x20) == small) || (small == 's' && c == 0x17F) ||
         (small == 'k' && c == 0x212A);
}

class Parser {
 public:
  explicit Parser(const Chars& pattern) : p_(pattern) {}

  Node Parse() {
    Node node = ParseAlternatives(false);
    if (i_ != p_.size()) Refuse("unmatched )");
    return node;
  }

 private:
  [[noreturn]] void Refuse(const std::string& what) const {
    throw NotCovered("regex " + ToUtf8(p_) + ": " + what);
  }
  bool done() const { return i_ >= p_.size(); }
  char32_t Take() {
    if (done()) Refuse("ends early");
    return p_[i_++];
  }
  bool TakeIf(std::u32string_view text) {
    if (std::u32string_view(p_).substr(i_, text.size()) != text) return false;
    i_ += text.size();
    return true;
  }

  Node ParseAlternatives(bool fold) {
    std::vector<Node> nodes;
    do {
      nodes.push_back(ParseSequence(fold));
    } while (TakeIf(U"|"));
    return nodes.size() == 1 ? std::move(nodes[0])
                             : std::make_unique<Alternatives>(std::move(nodes));
  }

  Node ParseSequence(bool fold) {
    std::vector<Node> nodes;
    while (!done() && p_[i_] != '|' && p_[i_] != ')') {
      if (fold && nodes.empty() && (TakeIf(U"ss") || TakeIf(U"SS"))) {
        if (!done() && p_[i_] != '|' && p_[i_] != ')') Refuse("(?i) on ss and more");
        nodes.push_back(FoldedSs());
        continue;
      }
      if (fold && IsAsciiLetter(p_[i_]) && i_ + 1 < p_.size() && IsFoldPair(p_[i_], p_[i_ + 1])) {
        Refuse("(?i) on letters that fold together");
      }
      nodes.push_back(ParseQuantified(fold));
    }
    return nodes.size() == 1 ? std::move(nodes[0]) : std::make_unique<Sequence>(std::move(nodes));
  }

  // Letters that some single character folds to together.
  static bool IsFoldPair(char32_t a, char32_t b) {
    static const Chars kPairs[] = {U"ss", U"st", U"ff", U"fi", U"fl"};
    const Chars pair = {a | 0x20, b | 0x20};
    return std::find(std::begin(kPairs), std::end(kPairs), pair) != std::end(kPairs);
  }

  static Node FoldedSs() {
    const auto letter = [] {
      return std::make_unique<One>([](char32_t c) { return FoldsTo(c, 's'); });
    };
    std::vector<Node> two;
    two.push_back(letter());
    two.push_back(letter());
    std::vector<Node> either;
    either.push_back(std::make_unique<Sequence>(std::move(two)));
    either.push_back(std::make_unique<One>([](char32_t c) { return c == 0xDF || c == 0x1E9E; }));
    return std::make_unique<Alternatives>(std::move(either));
  }

  size_t Number() {
    size_t number = 0;
    if (done() || p_[i_] < '0' || p_[i_] > '9') Refuse("a number is missing");
    while (!done() && p_[i_] >= '0' && p_[i_] <= '9' && number < 100000) {
      number = number * 10 + (Take() - '0');
    }
    return number;
  }

  Node ParseQuantified(bool fold) {
    Node node = ParseAtom(fold);
    while (!done()) {
      size_t min = 0, max = SIZE_MAX;
      bool braces = false;
      if (TakeIf(U"*")) {
      } else if (TakeIf(U"+")) {
        min = 1;
      } else if (TakeIf(U"?")) {
        max = 1;
      } else if (TakeIf(U"{")) {
        braces = true;
        min = p_[i_] == ',' ? 0 : Number();
        max = min;
        if (TakeIf(U",")) max = !done() && p_[i_] == '}' ? SIZE_MAX : Number();
        if (!TakeIf(U"}") || min > max) Refuse("odd braces");
      } else {
        break;
      }
      if (!braces && TakeIf(U"+")) {
        node = std::make_unique<Atomic>(std::make_unique<Repeat>(std::move(node), min, max, true));
      } else if (TakeIf(U"?")) {
        if (braces && min == max) Refuse("{n}?");
        node = std::make_unique<Repeat>(std::move(node), min, max, false);
      } else {
        node = std::make_unique<Repeat>(std::move(node), min, max, true);
      }
    }
    return node;
  }

  Node ParseAtom(bool fold) {
    if (TakeIf(U"(")) return ParseGroup(fold);
    if (TakeIf(U"[")) return std::make_unique<One>(ParseSet(fold));
    if (TakeIf(U".")) return std::make_unique<One>([](char32_t c) { return c != '\n'; });
    if (p_[i_] == '^' || p_[i_] == '$') return std::make_unique<Assertion>(Take());
    if (TakeIf(U"\\")) {
      const char32_t c = Take();
      if (c == 'b' || c == 'B' || c == 'A' || c == 'z') return std::make_unique<Assertion>(c);
      if (const auto predicate = ClassEscape(c)) return std::make_unique<One>(*predicate);
      return Literal(CharEscape(c), fold);
    }
    const char32_t c = Take();
    if (Chars(U"*+?{").find(c) != Chars::npos) Refuse("nothing to repeat");
    return Literal(c, fold);
  }

  Node Literal(char32_t c, bool fold) {
    if (fold && c >= 0x80) Refuse("(?i) on a character outside ASCII");
    if (fold && IsAsciiLetter(c)) {
      return std::make_unique<One>([c](char32_t other) { return FoldsTo(other, c); });
    }
    return std::make_unique<One>([c](char32_t other) { return other == c; });
  }

  Node ParseGroup(bool fold) {
    Node node;
    if (TakeIf(U"?:")) {
      node = ParseAlternatives(fold);
    } else if (TakeIf(U"?i:")) {
      node = ParseAlternatives(true);
    } else if (TakeIf(U"?>")) {
      node = std::make_unique<Atomic>(ParseAlternatives(fold));
    } else if (TakeIf(U"?=")) {
      node = std::make_unique<LookAhead>(ParseAlternatives(fold), true);
    } else if (TakeIf(U"?!")) {
      node = std::make_unique<LookAhead>(ParseAlternatives(fold), false);
    } else if (TakeIf(U"?<=")) {
      node = std::make_unique<LookBehind>(ParseAlternatives(fold), true);
    } else if (TakeIf(U"?<!")) {
      node = std::make_unique<LookBehind>(ParseAlternatives(fold), false);
    } else if (!done() && p_[i_] == '?') {
      Refuse("a group of an unknown kind");
    } else {
      node = ParseAlternatives(fold);
    }
    if (!TakeIf(U")")) Refuse("unmatched (");
    return node;
  }

  // \s and its like, inside and outside of sets.
  std::optional<Predicate> ClassEscape(char32_t c) {
    switch (c) {
      case 's':
      case 'd':
      case 'w':
      case 'h':
        return ClassOf(std::string(1, static_cast<char>(c)));
      case 'S':
      case 'D':
      case 'W':
      case 'H':
        return Not(ClassOf(std::string(1, static_cast<char>(c | 0x20))));
      case 'p':
      case 'P': {
        if (!TakeIf(U"{")) Refuse("\\p without braces");
        const bool negated = (c == 'P') != TakeIf(U"^");
        Chars name;
        while (!done() && p_[i_] != '}') name.push_back(Take());
        if (!TakeIf(U"}")) Refuse("\\p{ without }");
        Predicate predicate = ClassOf(ToUtf8(name));
        return negated ? Not(predicate) : predicate;
      }
      default:
        return std::nullopt;
    }
  }

  char32_t CharEscape(char32_t c) {
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'f':
        return '\f';
      case 'v':
        return '\v';
      case 'x': {
        const bool braces = TakeIf(U"{");
        char32_t value = 0;
        for (int digits = 0; !done() && (braces || digits < 2); ++digits) {
          const size_t digit =
              std::string("0123456789abcdef").find(static_cast<char>(p_[i_] | 0x20));
          if (p_[i_] >= 0x80 || digit == std::string::npos) break;
          value = value * 16 + static_cast<char32_t>(digit);
          ++i_;
        }
        if (braces && !TakeIf(U"}")) Refuse("\\x{ without }");
        if (!braces && value >= 0x80) Refuse("\\x of a byte");
        return value;
      }
      default:
        if (IsAsciiLetter(c) || (c >= '0' && c <= '9')) Refuse("an unknown escape");
        return c;
    }
  }

  // Behind "[".
  Predicate ParseSet(bool fold) {
    if (fold) Refuse("a set under (?i)");
    const bool negated = TakeIf(U"^");
    std::vector<Predicate> conjunction;
    std::vector<Predicate> members;
    const auto close = [&] {
      conjunction.push_back([members](char32_t c) {
        return std::any_of(members.begin(), members.end(), [&](const auto& m) { return m(c); });
      });
      members.clear();
    };
    for (bool first = true;; first = false) {
      if (done()) Refuse("unmatched [");
      if (TakeIf(U"]")) {
        if (first) Refuse("an empty set");
        break;
      }
      if (TakeIf(U"&&")) {
        close();
        continue;
      }
      if (TakeIf(U"[:")) Refuse("a POSIX class");
      if (TakeIf(U"[")) {
        members.push_back(ParseSet(false));
        continue;
      }
      char32_t low = Take();
      if (low == '\\') {
        const char32_t c = Take();
        if (const auto predicate = ClassEscape(c)) {
          members.push_back(*predicate);
          continue;
        }
        low = CharEscape(c);
      }
      char32_t high = low;
      if (i_ + 1 < p_.size() && p_[i_] == '-' && p_[i_ + 1] != ']') {
        ++i_;
        high = Take();
        if (high == '[') Refuse("a range up to a set");
        if (high == '\\') high = CharEscape(Take());
        if (high < low) Refuse("a range that runs backwards");
      }
      members.push_back([low, high](char32_t c) { return low <= c && c <= high; });
    }
    close();
    Predicate all = [conjunction](char32_t c) {
      return std::all_of(conjunction.begin(), conjunction.end(),
                         [&](const auto& p) { return p(c); });
    };
    return negated ? Not(all) : all;
  }

  const Chars& p_;
  size_t i_ = 0;
};

}  // namespace

Regex::Regex(const Chars& pattern) : root_(Parser(pattern).Parse()) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

std::vector<Cut> Regex::FindAll(const Chars& chars) const {
  if (chars.empty()) return {{0, 0, false}};
  std::vector<Cut> cuts;
  size_t from = 0, covered = 0;
  std::optional<size_t> last_match_end;
  while (from <= chars.size()) {
    size_t begin = from, end = 0;
    const auto found = [&](size_t e) {
      end = e;
      return true;
    };
    while (begin <= chars.size() && !root_->Match(chars, begin, found)) ++begin;
    if (begin > chars.size()) break;
    if (begin == end && last_match_end == end) {
      ++from;  // an empty match right behind a match does not count
      continue;
    }
    from = end;
    last_match_end = end;
    if (covered != begin) cuts.push_back({covered, begin, false});
    cuts.push_back({begin, end, true});
    covered = end;
  }
  if (covered != chars.size()) cuts.push_back({covered, chars.size(), false});
  return cuts;
}

Chars Escape(const Chars& text) {
  Chars pattern;
  for (const char32_t c : text) {
    if (c < 0x80 && !IsAsciiLetter(c) && !(c >= '0' && c <= '9') && c > ' ' && c != '_') {
      pattern.push_back('\\');
    }
    pattern.push_back(c);
  }
  return pattern;
}

}  // namespace easydata::tokenizers::reference
