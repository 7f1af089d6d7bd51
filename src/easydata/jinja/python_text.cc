#include "easydata/jinja/python_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "easydata/jinja/operators.h"
#include "easydata/jinja/printable_characters.h"
#include "easydata/jinja/render_error.h"
#include "easydata/jinja/unicode.h"

namespace easydata::jinja {
namespace {

constexpr int kMaxPrintedDepth = 200;
constexpr size_t kMaxPrinted = size_t{128} << 20;
constexpr char kHex[] = "0123456789abcdef";

void AppendInteger(int64_t value, std::string* out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out->append(digits, end.ptr);
}

/// Whether str.isprintable() is true of a character beyond ASCII: 0 and 1, or 2 where that depends
/// on the Python.
uint32_t IsPrintable(char32_t c) {
  const uint32_t* const end = kPrintableRuns + kNumPrintableRuns;
  const uint32_t* const run =
      std::upper_bound(kPrintableRuns, end, static_cast<uint32_t>(c) << 2 | 3) - 1;
  return *run & 3;
}

void AppendHex(char32_t c, int digits, std::string* out) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out->push_back(kHex[c >> shift & 15]);
}

/// Escapes a character that is not printable.
void AppendEscape(char32_t c, std::string* out) {
  *out += c < 0x100 ? "\\x" : c < 0x10000 ? "\\u" : "\\U";
  AppendHex(c, c < 0x100 ? 2 : c < 0x10000 ? 4 : 8, out);
}

void AppendStringRepr(std::string_view text, std::string* out) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out->push_back(quote);
  for (size_t i = 0; i < text.size();) {
    const Character c = DecodeCharacter(text.data() + i);
    if (c.value >= 0x80) {
      const uint32_t printable = IsPrintable(c.value);
      if (printable == 2) FailUnsupported("repr() of characters that Unicode 14 does not have");
      if (printable == 1) {
        out->append(text, i, static_cast<size_t>(c.length));
      } else {
        AppendEscape(c.value, out);
      }
    } else if (c.value == static_cast<char32_t>(quote) || c.value == '\\') {
      out->push_back('\\');
      out->push_back(static_cast<char>(c.value));
    } else if (c.value == '\n') {
      *out += "\\n";
    } else if (c.value == '\r') {
      *out += "\\r";
    } else if (c.value == '\t') {
      *out += "\\t";
    } else if (c.value < 0x20 || c.value == 0x7F) {
      AppendEscape(c.value, out);
    } else {
      out->push_back(static_cast<char>(c.value));
    }
    i += static_cast<size_t>(c.length);
  }
  out->push_back(quote);
}

/// Lists that hold each other many times over have few values and endless texts.
void CheckSize(const std::string& out) {
  if (out.size() > kMaxPrinted) FailBound("a text is too long");
}

class JsonWriter {
 public:
  JsonWriter(const JsonOptions& options, std::string* out) : options_(options), out_(out) {}

  void Write(const Value& value, int depth) {
    CheckSize(*out_);
    if (depth > kMaxPrintedDepth) FailUnsupported("JSON nested more than 200 deep");
    switch (value.kind) {
      case ValueKind::kNone:
        *out_ += "null";
        return;
      case ValueKind::kBoolean:
        *out_ += value.as.boolean ? "true" : "false";
        return;
      case ValueKind::kInteger:
        AppendInteger(value.as.integer, out_);
        return;
      case ValueKind::kBigInteger:
        out_->append(value.Text());
        return;
      case ValueKind::kFloat:
        WriteFloat(value.as.number);
        return;
      case ValueKind::kString:
        WriteString(value.Text());
        return;
      case ValueKind::kList:
      case ValueKind::kTuple:
        WriteList(value, depth);
        return;
      case ValueKind::kDict:
        WriteDict(value, depth);
        return;
      default:
        Fail(std::string("TypeError: Object of type ") + TypeName(value) +
             " is not JSON serializable");
    }
  }

 private:
  void WriteFloat(double value) {
    if (std::isnan(value)) {
      *out_ += "NaN";
    } else if (std::isinf(value)) {
      *out_ += value < 0 ? "-Infinity" : "Infinity";
    } else {
      AppendFloat(value, out_);
    }
  }

  void WriteEscape(char32_t unit) {
    *out_ += "\\u";
    AppendHex(unit, 4, out_);
  }

  void WriteString(std::string_view text) {
    out_->push_back('"');
    size_t start = 0;
    for (size_t i = 0; i < text.size();) {
      const auto c = static_cast<unsigned char>(text[i]);
      const bool plain = c >= 0x20 && c != '"' && c != '\\' && (c < 0x7F || !options_.ensure_ascii);
      if (plain) {
        ++i;
        continue;
      }
      out_->append(text, start, i - start);
      int length = 1;
      switch (c) {
        case '"':
          *out_ += "\\\"";
          break;
        case '\\':
          *out_ += "\\\\";
          break;
        case '\n':
          *out_ += "\\n";
          break;
        case '\r':
          *out_ += "\\r";
          break;
        case '\t':
          *out_ += "\\t";
          break;
        case '\b':
          *out_ += "\\b";
          break;
        case '\f':
          *out_ += "\\f";
          break;
        default: {
          const Character decoded = DecodeCharacter(text.data() + i);
          length = decoded.length;
          if (decoded.value < 0x10000) {
            WriteEscape(decoded.value);
          } else {
            WriteEscape(0xD800 + ((decoded.value - 0x10000) >> 10));
            WriteEscape(0xDC00 + ((decoded.value - 0x10000) & 0x3FF));
          }
        }
      }
      i += static_cast<size_t>(length);
      start = i;
    }
    out_->append(text, start, text.size() - start);
    out_->push_back('"');
  }

  void NewLine(int depth) {
    if (!options_.has_indent) return;
    out_->push_back('\n');
    for (int i = 0; i < depth; ++i) *out_ += options_.indent;
    CheckSize(*out_);
  }

  void WriteList(const Value& value, int depth) {
    out_->push_back('[');
    for (uint32_t i = 0; i < value.size; ++i) {
      if (i > 0) *out_ += options_.item_separator;
      NewLine(depth + 1);
      Write(value.as.items[i], depth + 1);
    }
    if (value.size > 0) NewLine(depth);
    out_->push_back(']');
  }

  void WriteKey(const Value& key) {
    switch (key.kind) {
      case ValueKind::kString:
        WriteString(key.Text());
        return;
      case ValueKind::kNone:
      case ValueKind::kBoolean:
      case ValueKind::kInteger:
      case ValueKind::kBigInteger:
      case ValueKind::kFloat:
        out_->push_back('"');
        Write(key, 0);
        out_->push_back('"');
        return;
      default:
        Fail(std::string("TypeError: keys must be str, int, float, bool or None, not ") +
             TypeName(key));
    }
  }

  void WriteDict(const Value& value, int depth) {
    std::vector<const DictEntry*> entries;
    entries.reserve(value.size);
    for (uint32_t i = 0; i < value.size; ++i) entries.push_back(&value.as.entries[i]);
    if (options_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [](const DictEntry* a, const DictEntry* b) {
        return IsLess(a->key, b->key);
      });
    }
    out_->push_back('{');
    bool first = true;
    for (const DictEntry* entry : entries) {
      if (!first) *out_ += options_.item_separator;
      first = false;
      NewLine(depth + 1);
      WriteKey(entry->key);
      *out_ += options_.key_separator;
      Write(entry->value, depth + 1);
    }
    if (!first) NewLine(depth);
    out_->push_back('}');
  }

  const JsonOptions& options_;
  std::string* const out_;
};

void AppendItems(const Value* items, uint32_t count, std::string* out, int depth) {
  for (uint32_t i = 0; i < count; ++i) {
    if (i > 0) *out += ", ";
    AppendRepr(items[i], out, depth + 1);
  }
}

}  // namespace

void AppendFloat(double value, std::string* out) {
  if (std::isnan(value)) {
    *out += "nan";
    return;
  }
  if (std::isinf(value)) {
    *out += value < 0 ? "-inf" : "inf";
    return;
  }
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  std::string_view all(text, static_cast<size_t>(end.ptr - text));
  if (all.starts_with('-')) {
    out->push_back('-');
    all.remove_prefix(1);
  }
  const size_t e = all.find('e');
  int exponent = 0;
  const char* from = all.data() + e + 1;
  if (*from == '+') ++from;
  std::from_chars(from, all.data() + all.size(), exponent);
  std::string digits(all.substr(0, e));
  std::erase(digits, '.');
  if (exponent < -4 || exponent >= 16) {
    out->push_back(digits[0]);
    if (digits.size() > 1) {
      out->push_back('.');
      out->append(digits, 1);
    }
    *out += exponent < 0 ? "e-" : "e+";
    const int magnitude = std::abs(exponent);
    if (magnitude < 10) out->push_back('0');
    AppendInteger(magnitude, out);
  } else if (exponent < 0) {
    *out += "0.";
    out->append(static_cast<size_t>(-exponent - 1), '0');
    *out += digits;
  } else {
    const auto whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() <= whole) {
      *out += digits;
      out->append(whole - digits.size(), '0');
      *out += ".0";
    } else {
      out->append(digits, 0, whole);
      out->push_back('.');
      out->append(digits, whole);
    }
  }
}

void AppendText(const Value& value, std::string* out) {
  switch (value.kind) {
    case ValueKind::kString:
      out->append(value.Text());
      return;
    case ValueKind::kUndefined:
      return;
    default:
      AppendRepr(value, out);
  }
}

void AppendRepr(const Value& value, std::string* out, int depth) {
  CheckSize(*out);
  if (depth > kMaxPrintedDepth) FailUnsupported("values nested more than 200 deep");
  switch (value.kind) {
    case ValueKind::kUndefined:
      *out += "Undefined";
      return;
    case ValueKind::kNone:
      *out += "None";
      return;
    case ValueKind::kBoolean:
      *out += value.as.boolean ? "True" : "False";
      return;
    case ValueKind::kInteger:
      AppendInteger(value.as.integer, out);
      return;
    case ValueKind::kBigInteger:
      out->append(value.Text());
      return;
    case ValueKind::kFloat:
      AppendFloat(value.as.number, out);
      return;
    case ValueKind::kString:
      if (value.IsMarkup()) {
        *out += "Markup(";
        AppendStringRepr(value.Text(), out);
        *out += ")";
      } else {
        AppendStringRepr(value.Text(), out);
      }
      return;
    case ValueKind::kList:
      out->push_back('[');
      AppendItems(value.as.items, value.size, out, depth);
      out->push_back(']');
      return;
    case ValueKind::kTuple:
      out->push_back('(');
      AppendItems(value.as.items, value.size, out, depth);
      if (value.size == 1) out->push_back(',');
      out->push_back(')');
      return;
    case ValueKind::kDict:
      out->push_back('{');
      for (uint32_t i = 0; i < value.size; ++i) {
        if (i > 0) *out += ", ";
        AppendRepr(value.as.entries[i].key, out, depth + 1);
        *out += ": ";
        AppendRepr(value.as.entries[i].value, out, depth + 1);
      }
      out->push_back('}');
      return;
    case ValueKind::kRange:
      *out += "range(";
      AppendInteger(value.as.range->start, out);
      *out += ", ";
      AppendInteger(value.as.range->stop, out);
      if (value.as.range->step != 1) {
        *out += ", ";
        AppendInteger(value.as.range->step, out);
      }
      out->push_back(')');
      return;
    default:
      FailUnsupported(std::string("printing a ") + TypeName(value));
  }
}

void AppendJson(const Value& value, const JsonOptions& options, std::string* out) {
  JsonWriter(options, out).Write(value, 0);
}

}  // namespace easydata::jinja
