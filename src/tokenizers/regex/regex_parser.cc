#include "tokenizers/regex/regex_parser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tokenizers/regex/caseless_runs.h"
#include "tokenizers/regex/set_parser.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

using Kind = RegexNode::Kind;

constexpr int kMaxGroupDepth = 200;
constexpr int kMaxQuantifiers = 20;
// PCRE2's limit for a number in braces; Oniguruma's is 100000.
constexpr int kMaxRepeat = 65535;

RegexNode NodeOf(Kind kind) {
  RegexNode node;
  node.kind = kind;
  return node;
}

RegexNode NodeOf(Kind kind, RegexNode child) {
  RegexNode node = NodeOf(kind);
  node.children.push_back(std::move(child));
  return node;
}

class Parser {
 public:
  explicit Parser(std::string_view pattern) : reader_(pattern) {}

  Result<RegexNode> Parse() {
    ARROW_ASSIGN_OR_RAISE(RegexNode node, ParseAlternatives(Options{}, 0));
    if (!reader_.at_end()) return reader_.Refuse("a ) without its (");
    if (HasOpenFolds(node)) {
      return reader_.Refuse("letters under (?i) that match as one character, as ss does \u00df,");
    }
    return node;
  }

 private:
  struct Options {
    bool ignore_case = false;
    bool dot_all = false;
  };

  // Up to the end of the pattern or the ) of the group, which is left to the caller.
  Result<RegexNode> ParseAlternatives(Options options, int depth) {
    if (depth > kMaxGroupDepth) return reader_.Refuse("groups in groups in groups");
    RegexNode alternatives = NodeOf(Kind::kAlternatives);
    for (;;) {
      ARROW_ASSIGN_OR_RAISE(RegexNode branch, ParseBranch(options, depth));
      alternatives.children.push_back(std::move(branch));
      if (!reader_.Take('|')) break;
    }
    if (alternatives.children.size() > 1) return alternatives;
    return std::move(alternatives.children[0]);
  }

  Result<RegexNode> ParseBranch(Options options, int depth) {
    RegexNode sequence = NodeOf(Kind::kSequence);
    while (!reader_.at_end() && !reader_.Peek('|') && !reader_.Peek(')')) {
      if (reader_.TakeAll("(?#")) {
        ARROW_RETURN_NOT_OK(SkipComment());
        continue;
      }
      bool takes_rest = false;
      ARROW_ASSIGN_OR_RAISE(RegexNode node, ParseItem(options, depth, &takes_rest));
      if (!takes_rest) ARROW_RETURN_NOT_OK(ParseRepeats(&node));
      sequence.children.push_back(std::move(node));
      if (takes_rest) break;
    }
    JoinFolds(&sequence.children);
    if (sequence.children.size() == 1) {
      RegexNode only = std::move(sequence.children[0]);
      return only;
    }
    if (sequence.children.empty()) return NodeOf(Kind::kEmpty);
    return sequence;
  }

  Status SkipComment() {
    while (!reader_.at_end()) {
      const char32_t c = reader_.Next();
      if (c == ')') return Status::OK();
      if (c == '\\' && !reader_.at_end()) reader_.Next();
    }
    return reader_.Refuse("a comment without its )");
  }

  // `takes_rest`: the item holds everything up to the end of the group, alternatives too, as what
  // follows an isolated (?i) does.
  Result<RegexNode> ParseItem(Options options, int depth, bool* takes_rest) {
    const char32_t c = reader_.Next();
    switch (c) {
      case '(':
        return ParseGroup(options, depth, takes_rest);
      case '[': {
        ARROW_ASSIGN_OR_RAISE(ParsedSet parsed, ParseSet(&reader_));
        return ApplyCase(std::move(parsed), options);
      }
      case '.': {
        const CharacterSet line_break(U'\n');
        return RegexNode::Set(options.dot_all ? CharacterSet(0, CharacterSet::kMax)
                                              : line_break.Complement());
      }
      case '^':
        return NodeOf(Kind::kLineStart);
      case '$':
        return NodeOf(Kind::kLineEnd);
      case '*':
      case '+':
      case '?':
        return reader_.Refuse("a quantifier of nothing");
      case '{': {
        const size_t before = reader_.position();
        if (ReadInterval()) return reader_.Refuse("a quantifier of nothing");
        reader_.set_position(before);
        return Literal(c, options);
      }
      case '\\':
        return ParseEscape(options);
      default:
        return Literal(c, options);
    }
  }

  RegexNode Literal(char32_t c, Options options) {
    RegexNode node = RegexNode::Set(CharacterSet(c));
    if (!options.ignore_case) return node;
    node.set = node.set.CaseFolded();
    node.is_caseless_literal = true;
    node.literal = c;
    return node;
  }

  // (?i) works on the set as it is spelled, before its negation.
  Result<RegexNode> ApplyCase(ParsedSet parsed, Options options) {
    if (options.ignore_case) {
      if (!parsed.negated && !parsed.set.Intersection(MultiFoldCharacters()).empty()) {
        return reader_.Refuse(
            "a set under (?i) with a character that matches several, as \u00df does,");
      }
      parsed.set = parsed.set.CaseFolded();
    }
    return RegexNode::Set(parsed.negated ? parsed.set.Complement() : std::move(parsed.set));
  }

  Result<RegexNode> ParseEscape(Options options) {
    if (reader_.at_end()) return reader_.Refuse("a \\ at the end");
    const size_t before = reader_.position();
    const char32_t c = reader_.Next();
    switch (c) {
      case 'A':
        return NodeOf(Kind::kTextStart);
      case 'z':
        return NodeOf(Kind::kTextEnd);
      case 'Z':
        return NodeOf(Kind::kTextEndOrLastBreak);
      case 'b':
      case 'B': {
        RegexNode node = NodeOf(c == 'b' ? Kind::kBoundary : Kind::kNoBoundary);
        node.set = BareWordSet();
        return node;
      }
      default:
        break;
    }
    if (c >= '1' && c <= '9') return reader_.Refuse("a back reference or an octal number");
    if (c < 0x80 && std::string_view("RXKGyYkgQ").find(static_cast<char>(c)) != std::string::npos) {
      return reader_.Refuse("\\", std::string(1, static_cast<char>(c)));
    }
    reader_.set_position(before);
    ARROW_ASSIGN_OR_RAISE(SetEscape escape, ParseSetEscape(&reader_, /*in_brackets=*/false));
    if (escape.is_set) return RegexNode::Set(std::move(escape.set));
    if (escape.is_numbered && options.ignore_case &&
        FoldKey(escape.character) != escape.character) {
      return reader_.Refuse("the number of a letter under (?i)");
    }
    return Literal(escape.character, options);
  }

  Result<RegexNode> ParseGroup(Options options, int depth, bool* takes_rest) {
    if (!reader_.Take('?')) {
      ++num_captures_;
      return ParseGroupBody(options, depth);
    }
    if (reader_.Take(':')) return ParseGroupBody(options, depth);
    for (const bool negative : {false, true}) {
      const char sign = negative ? '!' : '=';
      const bool ahead = reader_.Take(sign);
      if (!ahead && !reader_.TakeAll(negative ? "<!" : "<=")) continue;
      const int captures_before = num_captures_;
      ARROW_ASSIGN_OR_RAISE(RegexNode body, ParseGroupBody(options, depth));
      if (!ahead && num_captures_ != captures_before) {
        return reader_.Refuse("a capture in look-behind");
      }
      if (!ahead) ARROW_RETURN_NOT_OK(CheckLookBehind(body, /*top=*/true));
      RegexNode node = NodeOf(ahead ? Kind::kLookAhead : Kind::kLookBehind, std::move(body));
      node.negative = negative;
      return node;
    }
    if (reader_.Take('>')) {
      ARROW_ASSIGN_OR_RAISE(RegexNode body, ParseGroupBody(options, depth));
      return NodeOf(Kind::kAtomic, std::move(body));
    }
    if (reader_.Peek('<') || reader_.Peek('\'')) return reader_.Refuse("a named group");
    return ParseOptions(options, depth, takes_rest);
  }

  // (?i) and the like, alone or with the group they hold for.
  Result<RegexNode> ParseOptions(Options options, int depth, bool* takes_rest) {
    bool value = true;
    while (!reader_.at_end()) {
      const char32_t c = reader_.Next();
      if (c == '-') {
        value = false;
      } else if (c == 'i') {
        options.ignore_case = value;
      } else if (c == 'm') {
        options.dot_all = value;
      } else if (c == 'x' && !value) {
        // Off already.
      } else if (c == ':') {
        return ParseGroupBody(options, depth);
      } else if (c == ')') {
        *takes_rest = true;
        return ParseAlternatives(options, depth + 1);
      } else {
        break;
      }
    }
    return reader_.Refuse(
        "a group that starts with (? and is none of (?: (?= (?! (?<= (?<! (?> (?i)"
        " (?m)");
  }

  Result<RegexNode> ParseGroupBody(Options options, int depth) {
    ARROW_ASSIGN_OR_RAISE(RegexNode body, ParseAlternatives(options, depth + 1));
    if (!reader_.Take(')')) return reader_.Refuse("a ( without its )");
    // Characters in a group are not in a row with those around it.
    if (body.is_caseless_literal) return NodeOf(Kind::kSequence, std::move(body));
    return body;
  }

  // PCRE2 looks behind by a fixed distance per alternative at the top; Oniguruma tries all.
  Status CheckLookBehind(const RegexNode& body, bool top) {
    if (top && body.kind == Kind::kAlternatives) {
      for (const RegexNode& child : body.children) {
        ARROW_RETURN_NOT_OK(CheckLookBehind(child, false));
      }
      return Status::OK();
    }
    const RegexWidth width = WidthOf(body);
    if (width.min == width.max && width.max <= kMaxLookBehind && HasOnlyCharacters(body)) {
      return Status::OK();
    }
    return reader_.Refuse("look-behind that is not a fixed number of characters");
  }

  static bool HasOnlyCharacters(const RegexNode& node) {
    switch (node.kind) {
      case Kind::kEmpty:
      case Kind::kSet:
        return true;
      case Kind::kSequence:
      case Kind::kAlternatives:
      case Kind::kRepeat:
        return std::all_of(node.children.begin(), node.children.end(), HasOnlyCharacters);
      default:
        return false;
    }
  }

  struct Interval {
    int min;
    int max;
  };

  // The rest of {n}, {n,}, {n,m} or {,m} after the {.
  std::optional<Interval> ReadInterval() {
    const std::optional<int> low = reader_.ReadDecimal();
    if (reader_.Take('}')) return low ? std::optional(Interval{*low, *low}) : std::nullopt;
    if (!reader_.Take(',')) return std::nullopt;
    const std::optional<int> high = reader_.ReadDecimal();
    if ((!low && !high) || !reader_.Take('}')) return std::nullopt;
    return Interval{low.value_or(0), high.value_or(RegexNode::kUnbounded)};
  }

  // Quantifiers after an item, of which there may be several.
  Status ParseRepeats(RegexNode* node) {
    for (int quantifiers = 0;; ++quantifiers) {
      if (quantifiers > kMaxQuantifiers) return reader_.Refuse("quantifiers behind quantifiers");
      Interval interval;
      bool is_interval = false;
      const size_t before = reader_.position();
      if (reader_.Take('*')) {
        interval = {0, RegexNode::kUnbounded};
      } else if (reader_.Take('+')) {
        interval = {1, RegexNode::kUnbounded};
      } else if (reader_.Take('?')) {
        interval = {0, 1};
      } else if (reader_.Take('{')) {
        const std::optional<Interval> read = ReadInterval();
        if (!read) {
          reader_.set_position(before);
          return Status::OK();
        }
        interval = *read;
        is_interval = true;
      } else {
        return Status::OK();
      }
      if (interval.min > kMaxRepeat || interval.max > kMaxRepeat ||
          (interval.max != RegexNode::kUnbounded && interval.min > interval.max)) {
        return reader_.Refuse("a quantifier {n,m} with n > m or large numbers");
      }
      // {n}? is {n} made optional; {n,m}+ repeats {n,m}.
      const bool fixed = is_interval && interval.min == interval.max;
      const bool lazy = !fixed && reader_.Take('?');
      const bool possessive = !is_interval && !lazy && reader_.Take('+');
      if (WidthOf(*node).max == 0) return reader_.Refuse("a quantifier of nothing");
      if (IsSimple(node->min, node->max) && node->kind == Kind::kRepeat) {
        // Oniguruma makes one quantifier of two: (?:a+)? is a*.
        if (node->lazy || lazy || possessive || !IsSimple(interval.min, interval.max)) {
          return reader_.Refuse("a quantifier of * + or ?");
        }
        node->max = node->max == 1 && interval.max == 1 ? 1 : RegexNode::kUnbounded;
        node->min = std::min(node->min, interval.min);
        continue;
      }
      // The engines leave loops of nothing at different times.
      if (WidthOf(*node).min == 0 && !(interval.min == 0 && interval.max == 1)) {
        return reader_.Refuse("a quantifier of what may be empty");
      }
      RegexNode repeat = NodeOf(Kind::kRepeat, std::move(*node));
      repeat.min = interval.min;
      repeat.max = interval.max;
      repeat.lazy = lazy;
      *node = possessive ? NodeOf(Kind::kAtomic, std::move(repeat)) : std::move(repeat);
    }
  }

  // * + or ?, in braces too.
  static bool IsSimple(int min, int max) {
    return min <= 1 && (max == RegexNode::kUnbounded || (min == 0 && max == 1));
  }

  static constexpr int kMaxLookBehind = 255;

  PatternReader reader_;
  int num_captures_ = 0;
};

}  // namespace

Result<RegexNode> ParseRegex(std::string_view pattern) { return Parser(pattern).Parse(); }

}  // namespace easydata::tokenizers
