#include "easydata/jinja/builtins/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "easydata/jinja/builtins/strings.h"
#include "easydata/jinja/machine.h"
#include "easydata/jinja/operators.h"
#include "easydata/jinja/unicode.h"

namespace easydata::jinja::builtins {

Value ToInteger(const Value& value, const Arguments& arguments) {
  arguments.Check("int", 2, "default base");
  if (arguments.Get(1, "base") != nullptr) FailUnsupported("int with a base");
  const Value* otherwise = arguments.Get(0, "default");
  switch (value.kind) {
    case ValueKind::kInteger:
    case ValueKind::kBigInteger:
      return value;
    case ValueKind::kBoolean:
      return Value::Integer(value.as.boolean ? 1 : 0);
    case ValueKind::kFloat:
      if (std::isfinite(value.as.number) && std::fabs(value.as.number) < 9e18) {
        return Value::Integer(static_cast<int64_t>(value.as.number));
      }
      FailUnsupported("int of a float beyond 64 bits");
    case ValueKind::kString: {
      std::string_view text = StripEnd(StripStart(value.Text()));
      const char* begin = text.data();
      if (text.starts_with('+') && text.size() > 1 && text[1] != '-') ++begin;
      int64_t number = 0;
      const auto read = std::from_chars(begin, text.data() + text.size(), number);
      if (!text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size()) {
        return Value::Integer(number);
      }
      const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
        return IsLetter(c) && Lower(c) != 'e' && Lower(c) != 'i' && Lower(c) != 'n';
      });
      if (!plain) FailUnsupported("int of such a text");
      break;
    }
    case ValueKind::kUndefined:
      FailUndefined(value);
    default:
      break;
  }
  return otherwise == nullptr ? Value::Integer(0) : *otherwise;
}

Value ToFloat(const Value& value, const Arguments& arguments) {
  arguments.Check("float", 1, "default");
  const Value* otherwise = arguments.Get(0, "default");
  switch (value.kind) {
    case ValueKind::kInteger:
      return Value::Float(static_cast<double>(value.as.integer));
    case ValueKind::kBoolean:
      return Value::Float(value.as.boolean ? 1 : 0);
    case ValueKind::kFloat:
      return value;
    case ValueKind::kString: {
      const std::string_view text = value.Text();
      const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || c == '.' || c == '-';
      });
      double number = 0;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
      if (plain && read.ec == std::errc() && read.ptr == text.data() + text.size()) {
        return Value::Float(number);
      }
      FailUnsupported("float of such a text");
    }
    case ValueKind::kBigInteger:
      FailUnsupported("float of an integer beyond 64 bits");
    case ValueKind::kUndefined:
      FailUndefined(value);
    default:
      return otherwise == nullptr ? Value::Float(0) : *otherwise;
  }
}

Value Absolute(const Value& value, const Arguments& arguments) {
  arguments.Check("abs", 0, "");
  if (value.Is(ValueKind::kFloat)) return Value::Float(std::fabs(value.as.number));
  if (value.Is(ValueKind::kUndefined)) FailUnsupported("abs of what is undefined");
  const bool is_negative = value.Is(ValueKind::kInteger) && value.as.integer < 0;
  return is_negative ? Negative(value) : Positive(value);
}

Value MakeRange(Machine* machine, const Arguments& arguments) {
  if (arguments.named > 0) Fail("TypeError: range() takes no keyword arguments");
  if (arguments.count < 1 || arguments.count > 3) {
    Fail("TypeError: range expected 1 to 3 arguments, got " + std::to_string(arguments.count));
  }
  const int64_t first = Whole(arguments.values, 0, "range()");
  RangeData range = {0, 1, 0, first};
  if (arguments.count > 1) {
    range.start = first;
    range.stop = Whole(arguments.values + 1, 0, "range()");
  }
  if (arguments.count > 2) range.step = Whole(arguments.values + 2, 0, "range()");
  if (range.step == 0) Fail("ValueError: range() arg 3 must not be zero");
  constexpr int64_t kBound = int64_t{1} << 61;
  if (std::abs(range.start) > kBound || std::abs(range.stop) > kBound ||
      std::abs(range.step) > kBound) {
    FailUnsupported("ranges of numbers beyond 61 bits");
  }
  if (range.step > 0 && range.start < range.stop) {
    range.count = (range.stop - range.start - 1) / range.step + 1;
  } else if (range.step < 0 && range.stop < range.start) {
    range.count = (range.start - range.stop - 1) / -range.step + 1;
  }
  constexpr int64_t kMaxRange = 100'000;  // jinja2.sandbox.MAX_RANGE
  if (range.count > kMaxRange) {
    Fail("OverflowError: Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).");
  }
  Value made = Value::Of(ValueKind::kRange);
  made.as.range = machine->arena()->New(range);
  return made;
}

}  // namespace easydata::jinja::builtins
