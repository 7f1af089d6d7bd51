#include "easydata/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "easydata/jinja/items.h"

namespace easydata::jinja {
namespace {

constexpr int kMaxCompareDepth = 200;

// Lists that hold each other many times over have few values and endless comparisons.
constexpr int64_t kMaxCompared = 50'000'000;
thread_local int64_t num_compared = 0;

/// -1, 0, 1; 2 where one is no number.
int CompareNumbers(const Value& left, const Value& right) {
  if (IsWhole(left) && IsWhole(right)) {
    const int64_t a = AsInteger(left);
    const int64_t b = AsInteger(right);
    return a < b ? -1 : a > b ? 1 : 0;
  }
  // 64 bits of precision hold every integer of ours exactly.
  const auto wide = [](const Value& value) {
    return value.Is(ValueKind::kFloat) ? static_cast<long double>(value.as.number)
                                       : static_cast<long double>(AsInteger(value));
  };
  static_assert(std::numeric_limits<long double>::digits >= 64);
  const long double a = wide(left);
  const long double b = wide(right);
  if (std::isnan(a) || std::isnan(b)) return 2;
  return a < b ? -1 : a > b ? 1 : 0;
}

[[noreturn]] void FailOperands(const char* sign, const Value& left, const Value& right) {
  if (left.Is(ValueKind::kUndefined)) FailUndefined(left);
  if (right.Is(ValueKind::kUndefined)) FailUndefined(right);
  if (left.Is(ValueKind::kBigInteger) || right.Is(ValueKind::kBigInteger)) {
    FailUnsupported("arithmetic with integers beyond 64 bits");
  }
  Fail(std::string("TypeError: unsupported operand type(s) for ") + sign + ": '" + TypeName(left) +
       "' and '" + TypeName(right) + "'");
}

Value Concatenate(const Value& left, const Value& right, Arena* arena) {
  const size_t count = size_t{left.size} + right.size;
  if (count > std::numeric_limits<uint32_t>::max()) FailBound("a list is too long");
  Value* items = arena->Array<Value>(count);
  std::copy_n(left.as.items, left.size, items);
  std::copy_n(right.as.items, right.size, items + left.size);
  Value made = left;
  made.flags = SourcesOf(left);
  AddSource(right, &made);
  made.size = static_cast<uint32_t>(count);
  made.as.items = items;
  return made;
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

}  // namespace

void FailOverflow() { FailUnsupported("integers beyond 64 bits"); }

void StartCounting() { num_compared = 0; }

bool IsTrue(const Value& value) {
  switch (value.kind) {
    case ValueKind::kMissing:
    case ValueKind::kUndefined:
    case ValueKind::kNone:
      return false;
    case ValueKind::kBoolean:
      return value.as.boolean;
    case ValueKind::kInteger:
      return value.as.integer != 0;
    case ValueKind::kFloat:
      return value.as.number != 0;
    case ValueKind::kString:
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kDict:
      return value.size != 0;
    case ValueKind::kRange:
      return value.as.range->count != 0;
    case ValueKind::kDictView:
      return value.as.view->dict.size != 0;
    default:
      return true;
  }
}

bool AreEqual(const Value& left, const Value& right, int depth) {
  if (depth > kMaxCompareDepth) FailUnsupported("values nested more than 200 deep");
  if (++num_compared > kMaxCompared) FailBound("comparing two values takes too long");
  if (IsNumber(left) && IsNumber(right)) {
    const int order = CompareNumbers(left, right);
    // In a list, Python first asks whether two are the same object.
    if (order == 2 && depth > 0) FailUnsupported("comparing lists with nan in them");
    return order == 0;
  }
  if (left.Is(ValueKind::kBigInteger) || right.Is(ValueKind::kBigInteger)) {
    if (left.Is(ValueKind::kFloat) || right.Is(ValueKind::kFloat)) {
      FailUnsupported("comparing an integer beyond 64 bits with a float");
    }
    return left.kind == right.kind && left.Text() == right.Text();
  }
  if (left.kind != right.kind) return false;
  switch (left.kind) {
    case ValueKind::kUndefined:
    case ValueKind::kNone:
      return true;
    case ValueKind::kString:
      return IsSameName(left.Text(), right.Text());
    case ValueKind::kList:
    case ValueKind::kTuple:
      if (left.size != right.size) return false;
      for (uint32_t i = 0; i < left.size; ++i) {
        if (!AreEqual(left.as.items[i], right.as.items[i], depth + 1)) return false;
      }
      return true;
    case ValueKind::kDict:
      if (left.size != right.size) return false;
      for (uint32_t i = 0; i < left.size; ++i) {
        const DictEntry& entry = left.as.entries[i];
        bool found = false;
        for (uint32_t j = 0; j < right.size && !found; ++j) {
          const DictEntry& other = right.as.entries[j];
          if (!AreEqual(entry.key, other.key, depth + 1)) continue;
          if (!AreEqual(entry.value, other.value, depth + 1)) return false;
          found = true;
        }
        if (!found) return false;
      }
      return true;
    default:
      FailUnsupported(std::string("comparing objects of type ") + TypeName(left));
  }
}

bool IsLess(const Value& left, const Value& right, const char* sign, int depth) {
  if (depth > kMaxCompareDepth) FailUnsupported("values nested more than 200 deep");
  if (IsNumber(left) && IsNumber(right)) return CompareNumbers(left, right) == -1;
  // UTF-8 sorts as its code points do.
  if (left.IsString() && right.IsString()) return left.Text() < right.Text();
  if (left.kind == right.kind && IsSequenceOfItems(left)) {
    for (uint32_t i = 0; i < left.size && i < right.size; ++i) {
      if (AreEqual(left.as.items[i], right.as.items[i])) continue;
      return IsLess(left.as.items[i], right.as.items[i], sign, depth + 1);
    }
    return left.size < right.size;
  }
  if (left.Is(ValueKind::kDictView) || right.Is(ValueKind::kDictView)) {
    FailUnsupported("comparing views of dicts");
  }
  FailOperands(sign, left, right);
}

bool Contains(const Value& container, const Value& item) {
  switch (container.kind) {
    case ValueKind::kString:
      if (!item.IsString()) {
        Fail(std::string("TypeError: 'in <string>' requires string as left operand, not ") +
             TypeName(item));
      }
      if (item.size == 0) return true;
      return memmem(container.as.text, container.size, item.as.text, item.size) != nullptr;
    case ValueKind::kList:
    case ValueKind::kTuple:
      for (uint32_t i = 0; i < container.size; ++i) {
        if (AreEqual(container.as.items[i], item, 1)) return true;
      }
      return false;
    case ValueKind::kDict:
      CheckHashable(item);
      if (item.IsString()) return FindKey(container, item.Text()) != nullptr;
      for (uint32_t i = 0; i < container.size; ++i) {
        if (AreEqual(container.as.entries[i].key, item)) return true;
      }
      return false;
    case ValueKind::kUndefined:
      return false;
    case ValueKind::kRange: {
      if (!IsWhole(item)) {
        if (item.Is(ValueKind::kFloat)) FailUnsupported("looking for a float in a range");
        return false;
      }
      const RangeData& range = *container.as.range;
      const int64_t offset = AsInteger(item) - range.start;
      return offset % range.step == 0 && offset / range.step >= 0 &&
             offset / range.step < range.count;
    }
    case ValueKind::kDictView:
    case ValueKind::kGenerator:
    case ValueKind::kLoop:
      FailUnsupported(std::string("'in' of a ") + TypeName(container));
    default:
      Fail(std::string("TypeError: argument of type '") + TypeName(container) +
           "' is not iterable");
  }
}

Value Add(const Value& left, const Value& right, Arena* arena) {
  if (left.IsString() && right.IsString()) {
    std::string escaped;
    std::string_view first = left.Text();
    std::string_view second = right.Text();
    if (left.IsMarkup() && !right.IsMarkup()) {
      escaped = Escaped(second);
      second = escaped;
    } else if (right.IsMarkup() && !left.IsMarkup()) {
      escaped = Escaped(first);
      first = escaped;
    }
    const size_t size = first.size() + second.size();
    if (size > std::numeric_limits<uint32_t>::max()) FailBound("a text is too long");
    // A chain of sums grows its text in place.
    char* bytes = const_cast<char*>(first.data());
    if (first.empty() || !arena->Extend(first.end(), second.size())) {
      bytes = arena->Allocate(size);
      if (!first.empty()) std::memcpy(bytes, first.data(), first.size());
    }
    if (!second.empty()) std::memcpy(bytes + first.size(), second.data(), second.size());
    Value made = Value::String({bytes, size});
    made.origin = left.origin;
    made.flags = SourcesOf(left);
    AddSource(right, &made);
    if (left.IsMarkup() || right.IsMarkup()) made.flags |= Value::kMarkup;
    return made;
  }
  if (IsWhole(left) && IsWhole(right)) {
    int64_t sum = 0;
    if (__builtin_add_overflow(AsInteger(left), AsInteger(right), &sum)) FailOverflow();
    return Value::Integer(sum);
  }
  if (IsNumber(left) && IsNumber(right)) return Value::Float(AsFloat(left) + AsFloat(right));
  if (IsSequenceOfItems(left) && left.kind == right.kind) return Concatenate(left, right, arena);
  if (left.IsMarkup() || right.IsMarkup()) {
    if (!left.Is(ValueKind::kUndefined) && !right.Is(ValueKind::kUndefined)) {
      FailUnsupported("adding to a safe text what is no text");
    }
  }
  FailOperands("+", left, right);
}

Value Subtract(const Value& left, const Value& right) {
  if (IsWhole(left) && IsWhole(right)) {
    int64_t difference = 0;
    if (__builtin_sub_overflow(AsInteger(left), AsInteger(right), &difference)) FailOverflow();
    return Value::Integer(difference);
  }
  if (IsNumber(left) && IsNumber(right)) return Value::Float(AsFloat(left) - AsFloat(right));
  if (left.Is(ValueKind::kDictView) || right.Is(ValueKind::kDictView)) {
    FailUnsupported("differences of views of dicts");
  }
  FailOperands("-", left, right);
}

Value Multiply(const Value& left, const Value& right, Arena* arena) {
  if (IsWhole(left) && IsWhole(right)) {
    int64_t product = 0;
    if (__builtin_mul_overflow(AsInteger(left), AsInteger(right), &product)) FailOverflow();
    return Value::Integer(product);
  }
  if (IsNumber(left) && IsNumber(right)) return Value::Float(AsFloat(left) * AsFloat(right));
  const Value& many = IsWhole(right) ? left : right;
  const Value& times = IsWhole(right) ? right : left;
  if (!IsWhole(times) || !(many.IsString() || IsSequenceOfItems(many))) {
    FailOperands("*", left, right);
  }
  const auto count = static_cast<uint64_t>(std::max<int64_t>(0, AsInteger(times)));
  if (many.size > 0 && count > std::numeric_limits<uint32_t>::max() / many.size) {
    FailBound("MemoryError: a text or list is too long");
  }
  const size_t size = many.size == 0 ? 0 : many.size * count;
  Value made = many;
  made.flags = SourcesOf(many);
  if (many.IsMarkup()) made.flags |= Value::kMarkup;
  made.size = static_cast<uint32_t>(size);
  if (many.IsString()) {
    char* bytes = arena->Allocate(size);
    for (size_t i = 0; i < size; i += many.size) std::memcpy(bytes + i, many.as.text, many.size);
    made.as.text = bytes;
  } else {
    Value* items = arena->Array<Value>(size);
    for (size_t i = 0; i < size; i += many.size) std::copy_n(many.as.items, many.size, items + i);
    made.as.items = items;
  }
  return made;
}

Value Divide(const Value& left, const Value& right) {
  if (!IsNumber(left) || !IsNumber(right)) FailOperands("/", left, right);
  if (AsFloat(right) == 0) Fail("ZeroDivisionError: division by zero");
  if (IsWhole(left) && IsWhole(right)) {
    // Python divides integers exactly and rounds once.
    constexpr int64_t kExact = int64_t{1} << 53;
    const int64_t a = AsInteger(left);
    const int64_t b = AsInteger(right);
    if (a > kExact || a < -kExact || b > kExact || b < -kExact) {
      FailUnsupported("dividing integers beyond 53 bits");
    }
  }
  return Value::Float(AsFloat(left) / AsFloat(right));
}

namespace {

/// Python's divmod of floats.
void DivideFloats(double a, double b, double* quotient, double* remainder) {
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1.0;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  double floored = 0;
  if (div != 0) {
    floored = std::floor(div);
    if (div - floored > 0.5) floored += 1.0;
  } else {
    floored = std::copysign(0.0, a / b);
  }
  *quotient = floored;
  *remainder = mod;
}

}  // namespace

Value FloorDivide(const Value& left, const Value& right) {
  if (!IsNumber(left) || !IsNumber(right)) FailOperands("//", left, right);
  if (AsFloat(right) == 0) Fail("ZeroDivisionError: integer division or modulo by zero");
  if (IsWhole(left) && IsWhole(right)) {
    const int64_t a = AsInteger(left);
    const int64_t b = AsInteger(right);
    if (b == -1 && a == std::numeric_limits<int64_t>::min()) FailOverflow();
    int64_t quotient = a / b;
    if (a % b != 0 && (a < 0) != (b < 0)) --quotient;
    return Value::Integer(quotient);
  }
  double quotient = 0;
  double remainder = 0;
  DivideFloats(AsFloat(left), AsFloat(right), &quotient, &remainder);
  return Value::Float(quotient);
}

Value Modulo(const Value& left, const Value& right) {
  if (left.IsString()) {
    if (right.Is(ValueKind::kUndefined)) FailUnsupported("text % what is undefined");
    FailUnsupported("text % values");
  }
  if (!IsNumber(left) || !IsNumber(right)) FailOperands("%", left, right);
  if (AsFloat(right) == 0) Fail("ZeroDivisionError: integer division or modulo by zero");
  if (IsWhole(left) && IsWhole(right)) {
    const int64_t a = AsInteger(left);
    const int64_t b = AsInteger(right);
    if (b == -1) return Value::Integer(0);
    int64_t rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
    return Value::Integer(rest);
  }
  double quotient = 0;
  double remainder = 0;
  DivideFloats(AsFloat(left), AsFloat(right), &quotient, &remainder);
  return Value::Float(remainder);
}

Value Power(const Value& left, const Value& right) {
  if (!IsNumber(left) || !IsNumber(right)) FailOperands("** or pow()", left, right);
  if (!IsWhole(left) || !IsWhole(right) || AsInteger(right) < 0) {
    FailUnsupported("powers of other numbers than integers");
  }
  int64_t result = 1;
  int64_t base = AsInteger(left);
  for (int64_t exponent = AsInteger(right); exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) FailOverflow();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) FailOverflow();
  }
  return Value::Integer(result);
}

Value Negative(const Value& value) {
  if (value.Is(ValueKind::kFloat)) return Value::Float(-value.as.number);
  if (!IsWhole(value)) {
    if (value.Is(ValueKind::kUndefined)) FailUndefined(value);
    if (value.Is(ValueKind::kBigInteger)) FailOverflow();
    Fail(std::string("TypeError: bad operand type for unary -: '") + TypeName(value) + "'");
  }
  int64_t result = 0;
  if (__builtin_sub_overflow(int64_t{0}, AsInteger(value), &result)) FailOverflow();
  return Value::Integer(result);
}

Value Positive(const Value& value) {
  if (value.Is(ValueKind::kFloat)) return value;
  if (!IsWhole(value)) {
    if (value.Is(ValueKind::kUndefined)) FailUndefined(value);
    if (value.Is(ValueKind::kBigInteger)) FailOverflow();
    Fail(std::string("TypeError: bad operand type for unary +: '") + TypeName(value) + "'");
  }
  return Value::Integer(AsInteger(value));
}

}  // namespace easydata::jinja
