#include "easydata/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "easydata/jinja/unicode.h"

namespace easydata::jinja {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
/// The value of a digit of up to base 16; 16 of other characters.
int DigitOf(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}
bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

/// `\r\n` and `\r` become `\n`; one at the end goes.
std::string NormalizeNewlines(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text.push_back(source[i]);
    }
  }
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// Resolves the escapes of a string literal, as Python's "unicode-escape" codec does.
class EscapeReader {
 public:
  EscapeReader(std::string_view raw, int line) : raw_(raw), line_(line) {}

  Result<std::string> Read() {
    while (at_ < raw_.size()) {
      const char c = raw_[at_++];
      if (c != '\\') {
        value_.push_back(c);
        continue;
      }
      ARROW_RETURN_NOT_OK(ReadEscape());
    }
    return std::move(value_);
  }

 private:
  Status ReadEscape() {
    if (at_ == raw_.size()) return Status::Invalid("line ", line_, ": \\ at end of string");
    const char c = raw_[at_++];
    static constexpr std::string_view kNames = "nrtabfv\\'\"";
    static constexpr std::string_view kValues = "\n\r\t\a\b\f\v\\'\"";
    if (const size_t which = kNames.find(c); which != std::string_view::npos) {
      value_.push_back(kValues[which]);
    } else if (c == '\n') {
      // A line that goes on.
    } else if (c >= '0' && c <= '7') {
      char32_t code = static_cast<char32_t>(c - '0');
      for (int i = 0; i < 2 && at_ < raw_.size() && raw_[at_] >= '0' && raw_[at_] <= '7'; ++i) {
        code = code * 8 + static_cast<char32_t>(raw_[at_++] - '0');
      }
      AppendCharacter(code, &value_);
    } else if (c == 'x') {
      return ReadHex(2);
    } else if (c == 'u') {
      return ReadHex(4);
    } else if (c == 'U') {
      return ReadHex(8);
    } else if (c == 'N') {
      return Status::NotImplemented("line ", line_, ": characters by name (\\N{...})");
    } else {
      value_.push_back('\\');
      value_.push_back(c);
    }
    return Status::OK();
  }

  Status ReadHex(int digits) {
    uint32_t code = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = at_ < raw_.size() ? raw_[at_++] : ' ';
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0) {
        return Status::Invalid("line ", line_, ": truncated escape in a string");
      }
      code = code * 16 + static_cast<uint32_t>(IsDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    if (code > 0x10FFFF) return Status::Invalid("line ", line_, ": illegal Unicode character");
    if (code >= 0xD800 && code < 0xE000) {
      return Status::NotImplemented("line ", line_, ": half of a surrogate pair in a string");
    }
    AppendCharacter(code, &value_);
    return Status::OK();
  }

  std::string_view raw_;
  int line_;
  size_t at_ = 0;
  std::string value_ = {};
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(NormalizeNewlines(source)) {}

  Result<std::vector<Token>> Run() {
    while (at_ < text_.size()) {
      ARROW_RETURN_NOT_OK(ReadRoot());
    }
    Add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view Rest() const { return std::string_view(text_).substr(at_); }
  bool StartsWith(std::string_view prefix) const {
    return Rest().substr(0, prefix.size()) == prefix;
  }

  void Add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  /// Goes `bytes` on, and counts lines.
  void Skip(size_t bytes) {
    line_ += static_cast<int>(std::count(text_.data() + at_, text_.data() + at_ + bytes, '\n'));
    at_ += bytes;
    if (bytes > 0) line_starting_ = text_[at_ - 1] == '\n';
  }

  void SkipSpace() { Skip(Rest().size() - StripStart(Rest()).size()); }

  /// Reads text up to the next tag, and the tag's start.
  Status ReadRoot() {
    size_t tag = at_;
    while (true) {
      tag = text_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= text_.size()) {
        AddText(Rest());
        Skip(Rest().size());
        return Status::OK();
      }
      const char c = text_[tag + 1];
      if (c == '{' || c == '%' || c == '#') break;
      ++tag;
    }
    const char kind = text_[tag + 1];
    char sign = tag + 2 < text_.size() ? text_[tag + 2] : ' ';
    if (sign != '-' && sign != '+') sign = ' ';
    AddText(Stripped(Rest().substr(0, tag - at_), sign, kind));
    Skip(tag - at_ + (sign == ' ' ? 2 : 3));
    if (kind == '#') return SkipComment();
    if (kind == '%') {
      if (RawBegins()) return ReadRaw();
      Add(TokenKind::kTagBegin, "");
      return ReadTag('%');
    }
    Add(TokenKind::kOutputBegin, "");
    return ReadTag('}');
  }

  void AddText(std::string_view text) {
    if (!text.empty()) Add(TokenKind::kText, std::string(text));
  }

  /// The text before a tag, without what `{%-` and lstrip_blocks take away.
  std::string_view Stripped(std::string_view text, char sign, char kind) const {
    if (sign == '-') return StripEnd(text);
    if (sign == '+' || kind == '{') return text;
    const size_t newline = text.rfind('\n');
    const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    if (start == 0 && !line_starting_) return text;
    const std::string_view last_line = text.substr(start);
    if (last_line.empty() || !StripStart(last_line).empty()) return text;
    return text.substr(0, start);
  }

  Status SkipComment() {
    const size_t end = text_.find("#}", at_);
    if (end == std::string::npos) {
      if (at_ == text_.size()) return Status::OK();  // as Jinja2 has it
      return Status::Invalid("line ", line_, ": Missing end of comment tag");
    }
    const char before = end > at_ ? text_[end - 1] : ' ';
    Skip(end + 2 - at_);
    EndTag(before == '-' ? '-' : before == '+' ? '+' : ' ');
    return Status::OK();
  }

  /// Takes away what follows a tag: white space after `-%}`, one newline after `%}`.
  void EndTag(char sign) {
    if (sign == '-') SkipSpace();
    if (sign == ' ' && StartsWith("\n")) Skip(1);
  }

  /// Whether `raw` and the end of the tag follow.
  bool RawBegins() const {
    std::string_view rest = StripStart(Rest());
    if (rest.substr(0, 3) != "raw") return false;
    rest = StripStart(rest.substr(3));
    return rest.substr(0, 2) == "%}" || rest.substr(0, 3) == "-%}";
  }

  Status ReadRaw() {
    const int line = line_;
    const size_t open = text_.find("%}", at_);
    const bool strip = text_[open - 1] == '-';
    Skip(open + 2 - at_);
    if (strip) SkipSpace();
    size_t tag = at_;
    while (true) {
      tag = text_.find("{%", tag);
      if (tag == std::string::npos) {
        if (at_ == text_.size()) return Status::OK();  // as Jinja2 has it
        return Status::Invalid("line ", line, ": Missing end of raw directive");
      }
      std::string_view rest = std::string_view(text_).substr(tag + 2);
      char sign = rest.empty() ? ' ' : rest[0];
      if (sign == '-' || sign == '+') {
        rest.remove_prefix(1);
      } else {
        sign = ' ';
      }
      rest = StripStart(rest);
      if (rest.substr(0, 6) == "endraw") {
        rest = StripStart(rest.substr(6));
        const char end_sign = rest.empty() ? ' ' : rest[0] == '-' || rest[0] == '+' ? rest[0] : ' ';
        if (end_sign != ' ') rest.remove_prefix(1);
        if (rest.substr(0, 2) == "%}") {
          AddText(Stripped(Rest().substr(0, tag - at_), sign, '%'));
          Skip(static_cast<size_t>(rest.data() + 2 - (text_.data() + at_)));
          EndTag(end_sign);
          return Status::OK();
        }
      }
      ++tag;
    }
  }

  /// Reads the inside of a tag, to its end: `close` is % or }.
  Status ReadTag(char close) {
    std::string open;  // brackets that are
    while (at_ < text_.size()) {
      if (open.empty()) {
        const char sign = StartsWith("-") ? '-' : StartsWith("+") && close == '%' ? '+' : ' ';
        const size_t skip = sign == ' ' ? 0 : 1;
        if (Rest().size() > skip + 1 && Rest()[skip] == close && Rest()[skip + 1] == '}') {
          Add(close == '%' ? TokenKind::kTagEnd : TokenKind::kOutputEnd, "");
          Skip(skip + 2);
          if (close == '%') {
            EndTag(sign);
          } else if (sign == '-') {
            SkipSpace();
          }
          return Status::OK();
        }
      }
      const size_t before = Rest().size();
      SkipSpace();
      if (Rest().size() != before) continue;
      ARROW_RETURN_NOT_OK(ReadToken(&open));
    }
    return Status::Invalid("line ", line_, ": the template ends inside a tag");
  }

  Status ReadToken(std::string* open) {
    const char c = text_[at_];
    if (IsDigit(c)) return ReadNumber();
    if (IsNameStart(c)) {
      size_t end = at_;
      while (end < text_.size() && IsNamePart(text_[end])) ++end;
      if (end < text_.size() && static_cast<uint8_t>(text_[end]) >= 0x80) {
        return Status::NotImplemented("line ", line_, ": names beyond ASCII");
      }
      Add(TokenKind::kName, text_.substr(at_, end - at_));
      Skip(end - at_);
      return Status::OK();
    }
    if (c == '\'' || c == '"') return ReadString(c);
    return ReadOperator(open);
  }

  Status ReadNumber() {
    // Digits may be parted by single underscores; a float has a fraction or an exponent.
    const auto digits_end = [&](size_t from, auto is_digit) {
      size_t end = from;
      while (end < text_.size()) {
        if (is_digit(text_[end])) {
          ++end;
        } else if (text_[end] == '_' && end + 1 < text_.size() && is_digit(text_[end + 1])) {
          end += 2;
        } else {
          break;
        }
      }
      return end;
    };
    const auto decimal = [](char c) { return IsDigit(c); };
    const auto at = [&](size_t i) { return i < text_.size() ? text_[i] : ' '; };
    size_t end = digits_end(at_, decimal);
    bool is_float = false;
    if (at(end) == '.' && IsDigit(at(end + 1))) {
      is_float = true;
      end = digits_end(end + 1, decimal);
    }
    if (at(end) == 'e' || at(end) == 'E') {
      const size_t sign = at(end + 1) == '+' || at(end + 1) == '-' ? 1 : 0;
      if (IsDigit(at(end + 1 + sign))) {
        is_float = true;
        end = digits_end(end + 1 + sign, decimal);
      }
    }
    if (is_float && at_ > 0 && text_[at_ - 1] == '.') is_float = false;
    if (!is_float) {
      const char base = static_cast<char>(at(at_ + 1) | 0x20);
      if (text_[at_] == '0' && (base == 'x' || base == 'o' || base == 'b')) {
        const int radix = base == 'x' ? 16 : base == 'o' ? 8 : 2;
        const auto is_digit = [radix](char c) { return DigitOf(c) < radix; };
        const size_t last = digits_end(at(at_ + 2) == '_' ? at_ + 3 : at_ + 2, is_digit);
        if (is_digit(text_[last - 1]) && last > at_ + 2) return AddNumber(last, radix);
      }
      end = digits_end(at_, decimal);
      if (text_[at_] == '0' && end > at_ + 1) {
        // 00 is zero, 01 is the number 0 and then the number 1, which no expression is.
        return Status::NotImplemented("line ", line_, ": a number that begins with 0");
      }
    }
    std::string digits = text_.substr(at_, end - at_);
    std::erase(digits, '_');
    Add(is_float ? TokenKind::kFloat : TokenKind::kInteger, std::move(digits));
    Skip(end - at_);
    return Status::OK();
  }

  /// Adds the number up to `end`, which has two characters before its digits.
  Status AddNumber(size_t end, int radix) {
    uint64_t value = 0;
    for (size_t i = at_ + 2; i < end; ++i) {
      if (text_[i] == '_') continue;
      value = value * static_cast<uint64_t>(radix) + static_cast<uint64_t>(DigitOf(text_[i]));
      if (value > (uint64_t{1} << 58)) {
        return Status::NotImplemented("line ", line_, ": large numbers in other bases than ten");
      }
    }
    Add(TokenKind::kInteger, std::to_string(value));
    Skip(end - at_);
    return Status::OK();
  }

  Status ReadString(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return Status::Invalid("line ", line_, ": unexpected char ", quote);
    ARROW_ASSIGN_OR_RAISE(
        std::string value,
        EscapeReader(std::string_view(text_).substr(at_ + 1, end - at_ - 1), line_).Read());
    Add(TokenKind::kString, std::move(value));
    Skip(end + 1 - at_);
    return Status::OK();
  }

  Status ReadOperator(std::string* open) {
    static constexpr std::array<std::string_view, 6> kPairs = {"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view kSingle = "+-/*%~[](){}><=.:|,;";
    for (const std::string_view pair : kPairs) {
      if (StartsWith(pair)) {
        Add(TokenKind::kOperator, std::string(pair));
        Skip(2);
        return Status::OK();
      }
    }
    const char c = text_[at_];
    if (static_cast<uint8_t>(c) >= 0x80) {
      return Status::NotImplemented("line ", line_, ": names beyond ASCII");
    }
    if (kSingle.find(c) == std::string_view::npos) {
      return Status::Invalid("line ", line_, ": unexpected char '", std::string(1, c), "'");
    }
    if (c == '(' || c == '[' || c == '{') {
      open->push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (open->empty() || open->back() != c) {
        return Status::Invalid("line ", line_, ": unexpected '", std::string(1, c), "'");
      }
      open->pop_back();
    }
    Add(TokenKind::kOperator, std::string(1, c));
    Skip(1);
    return Status::OK();
  }

  const std::string text_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_ = {};
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view source) { return Lexer(source).Run(); }

}  // namespace easydata::jinja
