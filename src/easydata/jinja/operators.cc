#include "easydata/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "easydata/jinja/builtins.h"
#include "easydata/jinja/unicode.h"

namespace easydata::jinja {
namespace {

constexpr int kMaxCompareDepth = 200;

// Lists that hold each other many times over have few values and endless comparisons.
constexpr int64_t kMaxCompared = 50'000'000;
thread_local int64_t num_compared = 0;

bool IsNumber(const Value& value) {
  return value.Is(ValueKind::kBoolean) || value.Is(ValueKind::kInteger) ||
         value.Is(ValueKind::kFloat);
}

bool IsWhole(const Value& value) {
  return value.Is(ValueKind::kBoolean) || value.Is(ValueKind::kInteger);
}

int64_t AsInteger(const Value& value) {
  return value.Is(ValueKind::kBoolean) ? (value.as.boolean ? 1 : 0) : value.as.integer;
}

double AsFloat(const Value& value) {
  return value.Is(ValueKind::kFloat) ? value.as.number : static_cast<double>(AsInteger(value));
}

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

[[noreturn]] void FailOverflow() { FailUnsupported("integers beyond 64 bits"); }

Value Concatenate(const Value& left, const Value& right, Arena* arena) {
  const size_t count = size_t{left.size} + right.size;
  if (count > std::numeric_limits<uint32_t>::max()) FailBound("a list is too long");
  Value* items = arena->Array<Value>(count);
  std::copy_n(left.as.items, left.size, items);
  std::copy_n(right.as.items, right.size, items + left.size);
  Value made = left;
  made.flags = 0;
  made.origin = JoinOrigins(left.origin, right.origin);
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

bool IsSequenceOfItems(const Value& value) {
  return value.Is(ValueKind::kList) || value.Is(ValueKind::kTuple);
}

/// The bytes of the character `index` of `text`, which has more.
std::string_view CharacterAt(std::string_view text, int64_t index) {
  const char* p = text.data();
  if (IsAscii(text)) return {p + index, 1};
  for (int64_t i = 0; i < index; ++i) p += DecodeCharacter(p).length;
  return {p, static_cast<size_t>(DecodeCharacter(p).length)};
}

}  // namespace

Value PartOf(const Value& text, std::string_view part) {
  Value made = text;
  made.size = static_cast<uint32_t>(part.size());
  made.as.text = part.data();
  return made;
}

uint16_t JoinOrigins(uint16_t left, uint16_t right) {
  if (left == right || right == Value::kNoOrigin) return left;
  return left == Value::kNoOrigin ? right : Value::kManyOrigins;
}

Value MakeText(std::string_view text, const Value& like, Arena* arena) {
  if (text.size() > std::numeric_limits<uint32_t>::max()) FailBound("a text is too long");
  Value made = Value::String(arena->Copy(text));
  made.origin = like.origin;
  return made;
}

const char* TypeName(const Value& value) {
  switch (value.kind) {
    case ValueKind::kMissing:
    case ValueKind::kUndefined:
      return "Undefined";
    case ValueKind::kNone:
      return "NoneType";
    case ValueKind::kBoolean:
      return "bool";
    case ValueKind::kInteger:
    case ValueKind::kBigInteger:
      return "int";
    case ValueKind::kFloat:
      return "float";
    case ValueKind::kString:
      return value.IsMarkup() ? "Markup" : "str";
    case ValueKind::kList:
      return "list";
    case ValueKind::kTuple:
      return "tuple";
    case ValueKind::kDict:
      return "dict";
    case ValueKind::kRange:
      return "range";
    case ValueKind::kDictView:
      return "dict_items";
    case ValueKind::kGenerator:
      return "generator";
    case ValueKind::kNamespace:
      return "Namespace";
    case ValueKind::kLoop:
      return "LoopContext";
    case ValueKind::kMacro:
      return "Macro";
    case ValueKind::kFunction:
      return "function";
    case ValueKind::kMethod:
      return "method";
  }
  return "object";
}

// Undefined values: `flags` says what `text` is.

namespace {
constexpr uint8_t kUndefinedName = 0;
constexpr uint8_t kUndefinedReason = 255;
}  // namespace

Value UndefinedName(std::string_view name) {
  Value made = Value::String(name);
  made.kind = ValueKind::kUndefined;
  made.flags = kUndefinedName;
  return made;
}

Value UndefinedAttribute(const Value& of, std::string_view name) {
  Value made = UndefinedName(name);
  made.flags = static_cast<uint8_t>(1 + static_cast<int>(of.kind));
  return made;
}

Value UndefinedBecause(std::string_view message) {
  Value made = UndefinedName(message);
  made.flags = kUndefinedReason;
  return made;
}

void FailUndefined(const Value& value) {
  const std::string name(value.Text());
  if (value.flags == kUndefinedReason) Fail(name);
  if (value.flags == kUndefinedName) Fail("'" + name + "' is undefined");
  const std::string type = TypeName(Value::Of(static_cast<ValueKind>(value.flags - 1)));
  Fail("'" + type + " object' has no attribute '" + name + "'");
}

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
    made.origin = JoinOrigins(left.origin, right.origin);
    if (left.IsMarkup() || right.IsMarkup()) made.flags = Value::kMarkup;
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
  made.flags = many.IsString() ? many.flags & Value::kMarkup : uint8_t{0};
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

int64_t LengthOf(const Value& value) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      return 0;
    case ValueKind::kString:
      return static_cast<int64_t>(CountCharacters(value.Text()));
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kDict:
      return value.size;
    case ValueKind::kRange:
      return value.as.range->count;
    case ValueKind::kDictView:
      return value.as.view->dict.size;
    case ValueKind::kLoop:
      return value.as.loop->count;
    default:
      Fail(std::string("TypeError: object of type '") + TypeName(value) + "' has no len()");
  }
}

bool IsIterable(const Value& value) {
  switch (value.kind) {
    case ValueKind::kUndefined:
    case ValueKind::kString:
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kDict:
    case ValueKind::kRange:
    case ValueKind::kDictView:
    case ValueKind::kGenerator:
    case ValueKind::kLoop:
      return true;
    default:
      return false;
  }
}

Items ItemsOf(const Value& value, Arena* arena) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      return {nullptr, 0};
    case ValueKind::kList:
    case ValueKind::kTuple:
      return {value.as.items, value.size};
    case ValueKind::kString: {
      const auto count = static_cast<uint32_t>(CountCharacters(value.Text()));
      Value* items = arena->Array<Value>(count);
      const char* p = value.as.text;
      for (uint32_t i = 0; i < count; ++i) {
        const auto length = static_cast<size_t>(DecodeCharacter(p).length);
        items[i] = PartOf(value, {p, length});
        // str.__iter__ gives plain strings of Markup, too.
        items[i].flags &= static_cast<uint8_t>(~Value::kMarkup);
        p += length;
      }
      return {items, count};
    }
    case ValueKind::kDict: {
      Value* items = arena->Array<Value>(value.size);
      for (uint32_t i = 0; i < value.size; ++i) items[i] = value.as.entries[i].key;
      return {items, value.size};
    }
    case ValueKind::kRange: {
      const RangeData& range = *value.as.range;
      Value* items = arena->Array<Value>(static_cast<size_t>(range.count));
      for (int64_t i = 0; i < range.count; ++i) {
        items[i] = Value::Integer(range.start + i * range.step);
      }
      return {items, static_cast<uint32_t>(range.count)};
    }
    case ValueKind::kDictView: {
      const DictViewData& view = *value.as.view;
      const uint32_t count = view.dict.size;
      Value* items = arena->Array<Value>(count);
      for (uint32_t i = 0; i < count; ++i) {
        const DictEntry& entry = view.dict.as.entries[i];
        if (view.part == DictViewData::Part::kItems) {
          Value* pair = arena->Array<Value>(2);
          pair[0] = entry.key;
          pair[1] = entry.value;
          items[i] = Value::Tuple(pair, 2);
        } else {
          items[i] = view.part == DictViewData::Part::kKeys ? entry.key : entry.value;
        }
      }
      return {items, count};
    }
    case ValueKind::kGenerator: {
      GeneratorData* data = value.as.generator;
      const Items items = {data->items + data->next, data->count - data->next};
      data->next = data->count;
      return items;
    }
    case ValueKind::kLoop:
      FailUnsupported("going through a loop that runs");
    default:
      Fail(std::string("TypeError: '") + TypeName(value) + "' object is not iterable");
  }
}

void CheckHashable(const Value& key) {
  switch (key.kind) {
    case ValueKind::kList:
    case ValueKind::kDict:
    case ValueKind::kDictView:
      Fail(std::string("TypeError: unhashable type: '") + TypeName(key) + "'");
    case ValueKind::kTuple:
      for (uint32_t i = 0; i < key.size; ++i) CheckHashable(key.as.items[i]);
      return;
    default:
      return;
  }
}

Value GetAttribute(const Value& value, std::string_view name, Arena* arena) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      FailUndefined(value);
    case ValueKind::kNamespace:
      for (const auto* it = value.as.space->first; it != nullptr; it = it->next) {
        if (it->name == name) return it->value;
      }
      return UndefinedAttribute(value, name);
    case ValueKind::kLoop: {
      const LoopData& loop = *value.as.loop;
      const int64_t index0 = loop.index0;
      const int64_t count = loop.count;
      if (name == "index0") return Value::Integer(index0);
      if (name == "index") return Value::Integer(index0 + 1);
      if (name == "first") return Value::Boolean(index0 == 0);
      if (name == "last") return Value::Boolean(index0 + 1 == count);
      if (name == "length") return Value::Integer(count);
      if (name == "revindex") return Value::Integer(count - index0);
      if (name == "revindex0") return Value::Integer(count - index0 - 1);
      if (name == "depth") return Value::Integer(1);
      if (name == "depth0") return Value::Integer(0);
      if (name == "previtem") {
        if (index0 == 0) return UndefinedBecause("there is no previous item");
        return loop.items[index0 - 1];
      }
      if (name == "nextitem") {
        if (index0 + 1 == count) return UndefinedBecause("there is no next item");
        return loop.items[index0 + 1];
      }
      FailUnsupported("loop." + std::string(name));
    }
    default:
      break;
  }
  int method = -1;
  switch (LookUpMethod(value, name, &method)) {
    case MethodOf::kMethod: {
      Value made = Value::Of(ValueKind::kMethod);
      made.as.method = arena->New(MethodData{value, method});
      return made;
    }
    case MethodOf::kUnsafe: {
      const std::string message = "access to attribute '" + std::string(name) + "' of '" +
                                  TypeName(value) + "' object is unsafe.";
      return UndefinedBecause(arena->Copy(message));
    }
    case MethodOf::kUnsupported:
      FailUnsupported("." + std::string(name) + " of a " + TypeName(value));
    case MethodOf::kNone:
      break;
  }
  if (value.Is(ValueKind::kDict)) {
    const Value* found = FindKey(value, name);
    if (found != nullptr) return *found;
  }
  return UndefinedAttribute(value, name);
}

Value GetItem(const Value& value, const Value& key, Arena* arena) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      FailUndefined(value);
    case ValueKind::kDict:
      if (key.IsString()) {
        if (const Value* found = FindKey(value, key.Text()); found != nullptr) return *found;
      } else if (!key.Is(ValueKind::kList) && !key.Is(ValueKind::kDict)) {
        for (uint32_t i = 0; i < value.size; ++i) {
          if (AreEqual(value.as.entries[i].key, key)) return value.as.entries[i].value;
        }
      }
      break;
    case ValueKind::kList:
    case ValueKind::kTuple:
    case ValueKind::kString:
    case ValueKind::kRange:
      if (IsWhole(key)) {
        const int64_t length = LengthOf(value);
        int64_t index = AsInteger(key);
        if (index < 0) index += length;
        if (index < 0 || index >= length) break;
        if (value.IsString()) return PartOf(value, CharacterAt(value.Text(), index));
        if (value.Is(ValueKind::kRange)) {
          return Value::Integer(value.as.range->start + index * value.as.range->step);
        }
        return value.as.items[index];
      }
      break;
    default:
      break;
  }
  if (key.IsString()) {
    const bool is_plain_dict = value.Is(ValueKind::kDict);
    if (!is_plain_dict || LookUpMethod(value, key.Text(), nullptr) != MethodOf::kNone) {
      if (key.Text().starts_with('_')) FailUnsupported("attributes that begin with _");
      return GetAttribute(value, key.Text(), arena);
    }
    return UndefinedAttribute(value, key.Text());
  }
  return UndefinedBecause("there is no such item");
}

Value GetSlice(const Value& value, const Value& start, const Value& stop, const Value& step,
               Arena* arena) {
  if (value.Is(ValueKind::kUndefined)) FailUndefined(value);
  if (value.Is(ValueKind::kRange)) FailUnsupported("a slice of a range");
  if (IsNumber(value) || value.Is(ValueKind::kNone)) FailUnsupported("a slice of such a value");
  if (!value.IsString() && !IsSequenceOfItems(value)) {
    Fail(std::string("TypeError: '") + TypeName(value) +
         "' object is not subscriptable by a slice");
  }
  for (const Value* part : {&start, &stop, &step}) {
    if (part->Is(ValueKind::kNone) || IsWhole(*part)) continue;
    if (part->Is(ValueKind::kBigInteger)) FailOverflow();
    Fail("TypeError: slice indices must be integers or None");
  }
  const int64_t length = LengthOf(value);
  const int64_t by = step.Is(ValueKind::kNone) ? 1 : AsInteger(step);
  if (by == 0) Fail("ValueError: slice step cannot be zero");
  // PySlice_AdjustIndices.
  const auto adjusted = [&](const Value& given, int64_t otherwise) {
    if (given.Is(ValueKind::kNone)) return otherwise;
    int64_t index = AsInteger(given);
    if (index < 0) {
      index = index < -length ? -1 : index + length;
      if (index < 0) return by < 0 ? int64_t{-1} : int64_t{0};
    }
    return index >= length ? (by < 0 ? length - 1 : length) : index;
  };
  const int64_t from = adjusted(start, by < 0 ? length - 1 : 0);
  const int64_t to = adjusted(stop, by < 0 ? -1 : length);
  int64_t count = 0;
  if (by > 0 && from < to) count = (to - from - 1) / by + 1;
  if (by < 0 && to < from) count = (from - to - 1) / -by + 1;

  if (!value.IsString()) {
    Value made = value;
    made.size = static_cast<uint32_t>(count);
    if (by == 1) {
      made.as.items = value.as.items + from;
      return made;
    }
    Value* items = arena->Array<Value>(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) items[i] = value.as.items[from + i * by];
    made.as.items = items;
    return made;
  }
  if (count == 0) return PartOf(value, {value.as.text, 0});
  const std::string_view text = value.Text();
  const bool is_ascii = IsAscii(text);
  if (by == 1) {
    if (is_ascii)
      return PartOf(value, text.substr(static_cast<size_t>(from), static_cast<size_t>(count)));
    const std::string_view first = CharacterAt(text, from);
    const std::string_view last = CharacterAt(text, from + count - 1);
    return PartOf(value, {first.data(), static_cast<size_t>(last.end() - first.begin())});
  }
  std::vector<uint32_t> starts;  // of each character
  starts.reserve(static_cast<size_t>(length) + 1);
  for (size_t i = 0; i < text.size(); i += static_cast<size_t>(DecodeCharacter(&text[i]).length)) {
    starts.push_back(static_cast<uint32_t>(i));
  }
  starts.push_back(static_cast<uint32_t>(text.size()));
  std::string made;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(from + i * by);
    made.append(text, starts[at], starts[at + 1] - starts[at]);
  }
  Value result = MakeText(made, value, arena);
  result.flags = value.flags & Value::kMarkup;
  return result;
}

}  // namespace easydata::jinja
