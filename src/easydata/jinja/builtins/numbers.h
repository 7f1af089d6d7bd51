#pragma once

#include "easydata/jinja/builtins/arguments.h"
#include "easydata/jinja/value.h"

namespace easydata::jinja {
class Machine;
}  // namespace easydata::jinja

namespace easydata::jinja::builtins {

/// The filters `int`, `float` and `abs`.
Value ToInteger(const Value& value, const Arguments& arguments);
Value ToFloat(const Value& value, const Arguments& arguments);
Value Absolute(const Value& value, const Arguments& arguments);

/// The function range().
Value MakeRange(Machine* machine, const Arguments& arguments);

}  // namespace easydata::jinja::builtins
