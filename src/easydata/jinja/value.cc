#include "easydata/jinja/value.h"

#include <limits>
#include <string>

#include "easydata/jinja/arena.h"
#include "easydata/jinja/render_error.h"

namespace easydata::jinja {

Value MakeText(std::string_view text, const Value& like, Arena* arena) {
  if (text.size() > std::numeric_limits<uint32_t>::max()) FailBound("a text is too long");
  Value made = Value::String(arena->Copy(text));
  AddSourcesWithin(like, &made);
  return made;
}

namespace {

void AddWithin(const Value& of, Value* made, int depth) {
  if (of.origin != Value::kNoOrigin || SourcesOf(of) != 0 || depth > 200) {
    AddSource(of, made);
  } else if (of.Is(ValueKind::kList) || of.Is(ValueKind::kTuple)) {
    for (uint32_t i = 0; i < of.size; ++i) AddWithin(of.as.items[i], made, depth + 1);
  } else if (of.Is(ValueKind::kDict)) {
    for (uint32_t i = 0; i < of.size; ++i) AddWithin(of.as.entries[i].value, made, depth + 1);
  }
}

}  // namespace

void AddSourcesWithin(const Value& of, Value* made) { AddWithin(of, made, 0); }

uint16_t JoinDifferentOrigins(const Value& left, const Value& right) {
  if (left.origin == Value::kManyOrigins || right.origin == Value::kManyOrigins) {
    return Value::kManyOrigins;
  }
  const uint32_t message = MessageOf(left.origin);
  if (message != MessageOf(right.origin)) return Value::kManyOrigins;
  // What is of no call leaves the other one's.
  const auto has_calls = [](const Value& value) {
    const uint8_t sources = SourcesOf(value);
    return sources == 0 || (sources & Value::kCalls) != 0;
  };
  if (!has_calls(left)) return right.origin;
  return has_calls(right) ? OriginOf(message) : left.origin;
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

}  // namespace easydata::jinja
