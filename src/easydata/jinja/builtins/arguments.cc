#include "easydata/jinja/builtins/arguments.h"

#include "easydata/jinja/render_error.h"

namespace easydata::jinja {

const Value* Arguments::Get(int position, std::string_view name) const {
  const Value* found = position >= 0 && position < positional() ? values + position : nullptr;
  for (int i = 0; i < named; ++i) {
    if (names[i] != name) continue;
    if (found != nullptr) {
      Fail("TypeError: got multiple values for argument '" + std::string(name) + "'");
    }
    found = values + positional() + i;
  }
  return found;
}

void Arguments::Check(std::string_view function, int most, std::string_view known) const {
  if (positional() > most) {
    Fail("TypeError: " + std::string(function) + " takes at most " + std::to_string(most) +
         " arguments");
  }
  for (int i = 0; i < named; ++i) {
    const std::string wanted = " " + names[i] + " ";
    if ((" " + std::string(known) + " ").find(wanted) == std::string::npos) {
      Fail("TypeError: " + std::string(function) + " got an unexpected keyword argument '" +
           names[i] + "'");
    }
  }
}

namespace builtins {

const Value& Required(const Arguments& arguments, int position, std::string_view name) {
  const Value* value = arguments.Get(position, name);
  if (value == nullptr) {
    Fail("TypeError: missing a required argument: '" + std::string(name) + "'");
  }
  return *value;
}

std::string_view RequiredText(const Arguments& arguments, int position, const char* function) {
  const Value& value = Required(arguments, position, "");
  if (value.IsString()) return value.Text();
  Fail(std::string("TypeError: ") + function + "() argument must be str, not " + TypeName(value));
}

int64_t Whole(const Value* value, int64_t otherwise, const char* what) {
  if (value == nullptr) return otherwise;
  if (value->Is(ValueKind::kInteger)) return value->as.integer;
  if (value->Is(ValueKind::kBoolean)) return value->as.boolean ? 1 : 0;
  if (value->Is(ValueKind::kUndefined)) FailUndefined(*value);
  if (value->Is(ValueKind::kBigInteger)) FailUnsupported("arguments beyond 64 bits");
  Fail(std::string("TypeError: ") + what + " must be an integer, not " + TypeName(*value));
}

}  // namespace builtins
}  // namespace easydata::jinja
