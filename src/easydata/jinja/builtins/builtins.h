#pragma once

#include <cstdint>
#include <string_view>

#include "easydata/jinja/builtins/arguments.h"
#include "easydata/jinja/value.h"

namespace easydata::jinja {
class Machine;
}  // namespace easydata::jinja

namespace easydata::jinja::builtins {

/// What a name stands for: its number, -1 for one that Jinja2 knows and we do not, -2 for one that
/// neither knows.
int FindFilter(std::string_view name);
int FindTest(std::string_view name);

/// The number of a method; -1 where no value of ours has it.
int FindMethod(std::string_view name);

/// Whether a number is that of a method of strings.
bool IsStringMethod(int method);

/// Whether a dict of Python has an attribute of this name, which goes before its items.
bool IsDictAttribute(std::string_view name);

/// Functions that every template can call: range, namespace, dict, raise_exception, strftime_now.
/// -1 for those of Jinja2 that we do not have, -2 for other names.
int FindFunction(std::string_view name);
inline constexpr std::string_view kClockFunction = "strftime_now";

Value CallFilter(Machine* machine, int filter, const Value& value, const Arguments& arguments);
bool CallTest(Machine* machine, int test, const Value& value, const Arguments& arguments);
Value CallMethod(Machine* machine, int method, const Value& of, const Arguments& arguments);
Value CallFunction(Machine* machine, int function, const Arguments& arguments);

/// Whether a Python object of the value's type has an attribute of this name, and its method.
enum class MethodOf : uint8_t { kNone, kMethod, kUnsafe, kUnsupported };
MethodOf LookUpMethod(const Value& value, std::string_view name, int* method);

}  // namespace easydata::jinja::builtins
