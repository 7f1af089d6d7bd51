#pragma once

#include "easydata/jinja/builtins/arguments.h"
#include "easydata/jinja/value.h"

namespace easydata::jinja {
class Machine;
}  // namespace easydata::jinja

namespace easydata::jinja::builtins {

Value CallDictMethod(Machine* machine, int method, const Value& of, const Arguments& arguments);

/// The filter `dictsort`.
Value DictSort(Machine* machine, const Value& value, const Arguments& arguments);

/// The functions namespace() and dict().
Value MakeNamespace(Machine* machine, const Arguments& arguments);
Value MakeDictOf(Machine* machine, const Arguments& arguments);

}  // namespace easydata::jinja::builtins
