#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "easydata/jinja/value.h"

namespace easydata::jinja {

/// The arguments of a call: those by position, then those by name.
struct Arguments {
  const Value* values = nullptr;
  int count = 0;
  /// Of the last ones.
  const std::string* names = nullptr;
  int named = 0;

  int positional() const { return count - named; }

  /// The argument at a position (-1: it has none) or of a name; null where it is not given. Fails
  /// where it is given twice.
  const Value* Get(int position, std::string_view name) const;

  /// Fails where there are more than `most` by position, or one by a name not among `known`
  /// (separated by spaces).
  void Check(std::string_view function, int most, std::string_view known) const;
};

namespace builtins {

/// The argument at a position or of a name; fails where it is not given.
const Value& Required(const Arguments& arguments, int position, std::string_view name);

/// The text at a position; fails where there is none.
std::string_view RequiredText(const Arguments& arguments, int position, const char* function);

/// A whole number of 64 bits, or `otherwise` where it is not given. Errors call it `what`.
int64_t Whole(const Value* value, int64_t otherwise, const char* what);

}  // namespace builtins
}  // namespace easydata::jinja
