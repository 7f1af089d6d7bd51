#include "easydata/source/json_forms.h"

#include <cstring>

namespace easydata::source {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";

/// The bytes of white space that a string begins with, in the escapes that JSON has for it, too.
size_t BlankStart(std::string_view raw) {
  size_t i = 0;
  while (i < raw.size()) {
    if (raw[i] == ' ') {
      ++i;
    } else if (raw[i] == '\\' && i + 1 < raw.size() &&
               std::string_view("ntrf").find(raw[i + 1]) != std::string_view::npos) {
      i += 2;
    } else {
      break;
    }
  }
  return i;
}

/// Whether a string says something: it is neither blank nor what is written for nothing.
bool SaysSomething(std::string_view raw) {
  raw.remove_prefix(BlankStart(raw));
  for (const std::string_view nothing : {"[]", "{}", "null"}) {
    if (!raw.starts_with(nothing)) continue;
    raw.remove_prefix(nothing.size());
    return BlankStart(raw) < raw.size();
  }
  return !raw.empty();
}

/// Walks over the text of a row; whatever does not fit ends it.
class Glance {
 public:
  explicit Glance(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  /// Writes each field's name and what kind of value it has. False where it is no object.
  bool Read(std::string* form) {
    if (!Take('{')) return false;
    if (Take('}')) return AtEnd();
    do {
      std::string_view name;
      if (!Peek('"') || !TakeString(&name) || !Take(':')) return false;
      const char kind = TakeValue();
      if (kind == kNone) return false;
      form->append(name).push_back('\n');
      form->push_back(kind);
    } while (Take(','));
    return Take('}') && AtEnd();
  }

 private:
  static constexpr char kNone = 0, kNull = 'n', kNothing = 'e', kSomething = 's';

  void SkipBlanks() {
    while (at_ < end_ && kBlanks.find(*at_) != std::string_view::npos) ++at_;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == end_;
  }
  bool Peek(char wanted) {
    SkipBlanks();
    return at_ < end_ && *at_ == wanted;
  }
  bool Take(char wanted) {
    if (!Peek(wanted)) return false;
    ++at_;
    return true;
  }

  /// Goes behind the string that begins here; `inside` is what stands between its quotes.
  bool TakeString(std::string_view* inside) {
    const char* const begin = ++at_;
    for (;;) {
      const auto* quote = static_cast<const char*>(std::memchr(at_, '"', end_ - at_));
      if (quote == nullptr) return false;
      at_ = quote + 1;
      const char* back = quote;
      while (back > begin && back[-1] == '\\') --back;
      if ((quote - back) % 2 != 0) continue;
      *inside = {begin, static_cast<size_t>(quote - begin)};
      return true;
    }
  }

  char TakeValue() {
    SkipBlanks();
    if (at_ == end_) return kNone;
    std::string_view inside;
    switch (*at_) {
      case '"':
        if (!TakeString(&inside)) return kNone;
        return SaysSomething(inside) ? kSomething : kNothing;
      case '{':
      case '[':
        return TakeNested();
      default: {
        const char* const begin = at_;
        while (at_ < end_ && *at_ != ',' && *at_ != '}' &&
               kBlanks.find(*at_) == std::string_view::npos) {
          ++at_;
        }
        const std::string_view word(begin, at_ - begin);
        return word.empty() ? kNone : word == "null" ? kNull : kSomething;
      }
    }
  }

  char TakeNested() {
    ++at_;
    const bool is_empty = Peek('}') || Peek(']');
    std::string_view inside;
    for (int64_t depth = 1; at_ < end_;) {
      const char c = *at_;
      if (c == '"') {
        if (!TakeString(&inside)) return kNone;
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return is_empty ? kNothing : kSomething;
    }
    return kNone;
  }

  const char* at_;
  const char* const end_;
};

}  // namespace

bool JsonForms::IsNew(std::string_view row) {
  form_.clear();
  return !Glance(row).Read(&form_) || known_.insert(form_).second;
}

}  // namespace easydata::source
