#include "easydata/json/python_json.h"

#include <simdjson.h>

#include <cstdint>

#include "easydata/base/character_codes.h"

namespace easydata::json {
namespace {

constexpr int kMaxDepth = 1024;
constexpr size_t kMaxDigits = 4300;  // of Python's int()

class Reader {
 public:
  Reader(std::string_view text, JsonFault* fault) : text_(text), fault_(fault) {}

  bool Document(std::string* kind, std::vector<JsonMember>* members) {
    if (!simdjson::validate_utf8(text_.data(), text_.size()))
      return Fail(FirstBadUtf8Byte(text_), "not UTF-8");
    Space();
    if (at_ == text_.size()) return Fail(at_, "a value was expected");
    *kind = KindOf(text_[at_]);
    if (!Value(0, members)) return false;
    Space();
    if (at_ != text_.size()) return Fail(at_, "something follows the value");
    return true;
  }

 private:
  static const char* KindOf(char c) {
    switch (c) {
      case '{':
        return "object";
      case '[':
        return "list";
      case '"':
        return "string";
      case 't':
      case 'f':
        return "boolean";
      case 'n':
        return "null";
      default:
        return "number";
    }
  }

  bool Fail(size_t position, std::string message) {
    *fault_ = {position, std::move(message)};
    return false;
  }

  bool At(char c) const { return at_ < text_.size() && text_[at_] == c; }

  void Space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool Word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool Value(int depth, std::vector<JsonMember>* members) {
    if (depth > kMaxDepth) return Fail(at_, "it is nested more than 1024 deep");
    if (at_ == text_.size()) return Fail(at_, "a value was expected");
    switch (text_[at_]) {
      case '{':
        return Object(depth, members);
      case '[':
        return List(depth);
      case '"':
        return String(nullptr);
      default:
        break;
    }
    for (std::string_view word : {"null", "true", "false", "NaN", "Infinity", "-Infinity"}) {
      if (Word(word)) return true;
    }
    return Number();
  }

  bool Object(int depth, std::vector<JsonMember>* members) {
    ++at_;
    Space();
    if (At('}')) return ++at_, true;
    for (;;) {
      if (!At('"')) return Fail(at_, "a key in double quotes was expected");
      JsonMember member;
      if (!String(members == nullptr ? nullptr : &member.key)) return false;
      Space();
      if (!At(':')) return Fail(at_, "':' was expected");
      ++at_;
      Space();
      const size_t begin = at_;
      if (!Value(depth + 1, nullptr)) return false;
      if (members != nullptr) {
        member.raw = text_.substr(begin, at_ - begin);
        members->push_back(std::move(member));
      }
      Space();
      if (At('}')) return ++at_, true;
      if (!At(',')) return Fail(at_, "',' or '}' was expected");
      ++at_;
      Space();
    }
  }

  bool List(int depth) {
    ++at_;
    Space();
    if (At(']')) return ++at_, true;
    for (;;) {
      if (!Value(depth + 1, nullptr)) return false;
      Space();
      if (At(']')) return ++at_, true;
      if (!At(',')) return Fail(at_, "',' or ']' was expected");
      ++at_;
      Space();
    }
  }

  bool String(std::string* out) {
    const size_t begin = at_++;
    while (at_ < text_.size()) {
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        if (out != nullptr) UnescapeJsonString(text_.substr(begin, at_ - begin), out);
        return true;
      }
      if (c < 0x20) return Fail(at_, "a control character stands in a string unescaped");
      if (c != '\\') {
        ++at_;
        continue;
      }
      if (at_ + 1 >= text_.size()) break;
      const char escape = text_[at_ + 1];
      if (escape == 'u') {
        if (at_ + 6 > text_.size()) return Fail(at_, "\\u wants four hexadecimal digits");
        for (size_t i = at_ + 2; i < at_ + 6; ++i) {
          if (HexDigit(text_[i]) < 0) return Fail(at_, "\\u wants four hexadecimal digits");
        }
        at_ += 6;
      } else if (std::string_view("\"\\/bfnrt").find(escape) != std::string_view::npos) {
        at_ += 2;
      } else {
        return Fail(at_, "there is no such escape");
      }
    }
    return Fail(begin, "the string that starts here has no end");
  }

  size_t Digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ - begin;
  }

  bool Number() {
    const size_t begin = at_;
    if (At('-')) ++at_;
    if (At('0')) {
      ++at_;
    } else {
      const size_t digits = Digits();
      if (digits == 0) return Fail(begin, "a value was expected");
      if (digits > kMaxDigits && !At('.') && !At('e') && !At('E')) {
        return Fail(begin, "the whole number has more than 4300 digits");
      }
    }
    if (At('.')) {
      const size_t point = at_++;
      if (Digits() == 0) return at_ = point, true;  // the caller refuses what follows
    }
    if (At('e') || At('E')) {
      const size_t mark = at_++;
      if (At('+') || At('-')) ++at_;
      if (Digits() == 0) return at_ = mark, true;
    }
    return true;
  }

  std::string_view text_;
  JsonFault* fault_;
  size_t at_ = 0;
};

}  // namespace

size_t FirstBadUtf8Byte(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
    const unsigned char lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || i + length > text.size()) return i;
    for (size_t k = i + 1; k < i + length; ++k) {
      if ((byte(k) & 0xc0) != 0x80) return i;
    }
    const unsigned char second = byte(i + 1);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
      return i;
    }
    i += length;
  }
  return text.size();
}

bool ReadPythonJson(std::string_view text, std::string* kind, std::vector<JsonMember>* members,
                    JsonFault* fault) {
  return Reader(text, fault).Document(kind, members);
}

bool UnescapeJsonString(std::string_view raw, std::string* out) {
  out->clear();
  bool valid = true;
  auto unit = [&](size_t i) -> uint32_t {
    return HexDigit(raw[i]) << 12 | HexDigit(raw[i + 1]) << 8 | HexDigit(raw[i + 2]) << 4 |
           HexDigit(raw[i + 3]);
  };
  for (size_t i = 1; i + 1 < raw.size();) {
    if (raw[i] != '\\') {
      out->push_back(raw[i++]);
      continue;
    }
    const char escape = raw[i + 1];
    i += 2;
    switch (escape) {
      case 'b':
        out->push_back('\b');
        break;
      case 'f':
        out->push_back('\f');
        break;
      case 'n':
        out->push_back('\n');
        break;
      case 'r':
        out->push_back('\r');
        break;
      case 't':
        out->push_back('\t');
        break;
      case 'u': {
        uint32_t c = unit(i);
        i += 4;
        if (c >= 0xd800 && c < 0xdc00 && i + 6 < raw.size() && raw[i] == '\\' &&
            raw[i + 1] == 'u') {
          const uint32_t low = unit(i + 2);
          if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            i += 6;
          }
        }
        if (c >= 0xd800 && c < 0xe000) valid = false;
        AppendUtf8(c, out);
        break;
      }
      default:
        out->push_back(escape);
    }
  }
  return valid;
}

}  // namespace easydata::json
