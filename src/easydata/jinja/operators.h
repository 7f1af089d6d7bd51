#pragma once

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

/// Says that an integer has more than 64 bits.
[[noreturn]] void FailOverflow();

}  // namespace easydata::jinja
