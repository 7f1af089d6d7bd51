#pragma once

#include <string>
#include <string_view>

#include "easydata/jinja/arena.h"
#include "easydata/jinja/value.h"

namespace easydata::jinja {

/// Python's operators on values. All of them throw RenderError where Python raises.

/// Begins a rendering, whose comparisons are bounded together.
void StartCounting();

bool IsTrue(const Value& value);
bool AreEqual(const Value& left, const Value& right, int depth = 0);
/// left < right; `sign` is for the error.
bool IsLess(const Value& left, const Value& right, const char* sign = "<", int depth = 0);
bool Contains(const Value& container, const Value& item);

Value Add(const Value& left, const Value& right, Arena* arena);
Value Subtract(const Value& left, const Value& right);
Value Multiply(const Value& left, const Value& right, Arena* arena);
Value Divide(const Value& left, const Value& right);
Value FloorDivide(const Value& left, const Value& right);
Value Modulo(const Value& left, const Value& right);
Value Power(const Value& left, const Value& right);
Value Negative(const Value& value);
Value Positive(const Value& value);

/// A part of a string, in the same memory.
Value PartOf(const Value& text, std::string_view part);

/// len(value).
int64_t LengthOf(const Value& value);

/// What iterating over a value gives, all at once; a generator is used up.
struct Items {
  const Value* values;
  uint32_t count;
};
Items ItemsOf(const Value& value, Arena* arena);
bool IsIterable(const Value& value);

/// value.name, value[key] and value[start:stop:step], as Jinja2's sandbox finds them.
Value GetAttribute(const Value& value, std::string_view name, Arena* arena);
Value GetItem(const Value& value, const Value& key, Arena* arena);
Value GetSlice(const Value& value, const Value& start, const Value& stop, const Value& step,
               Arena* arena);

/// A value that stands for one that is not there: of a name; of an attribute or item of `of`; or
/// one whose use fails with `message`.
Value UndefinedName(std::string_view name);
Value UndefinedAttribute(const Value& of, std::string_view name);
Value UndefinedBecause(std::string_view message);
[[noreturn]] void FailUndefined(const Value& value);

/// Fails where a value cannot be a key of a dict.
void CheckHashable(const Value& key);

/// What Python calls the value's type.
const char* TypeName(const Value& value);

/// A copy of `text` in the arena as a value, from the same message as `like`.
Value MakeText(std::string_view text, const Value& like, Arena* arena);

/// The message of what is made of two values.
uint16_t JoinOrigins(uint16_t left, uint16_t right);

}  // namespace easydata::jinja
