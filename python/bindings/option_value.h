#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "bindings.h"

namespace easydata {

/// Raises TypeError: "NAME: must be WANTED, not VALUE".
[[noreturn]] void RefuseType(const std::string& name, const char* wanted, nb::handle value);

/// Raises ValueError: a whole number that is below `least` or above `most`.
[[noreturn]] void RefuseRange(const std::string& name, const std::string& least,
                              const std::string& most, nb::handle value);

/// Raises ValueError: a name that is none of the choices.
[[noreturn]] void RefuseChoice(const std::string& name, const std::vector<std::string>& choices,
                               const std::string& value);

/// Raises TypeError: a keyword that is none of the options, with the nearest one.
[[noreturn]] void RefuseKeyword(const std::string& keyword,
                                const std::vector<std::string>& options);

/// Raises ValueError for a number below 1; `hint` is put behind what must be.
void CheckAtLeastOne(const std::string& name, int64_t value, const char* hint = "");

/// Names in a collection of any kind, but for a string, whose letters nobody means.
std::vector<std::string> NamesOption(const std::string& name, const char* wanted, nb::handle value);

/// A path: text, bytes or what os.fspath() takes. OSError (EILSEQ) where it is not UTF-8.
std::string PathOption(nb::handle path);

/// Paths in a collection.
std::vector<std::string> PathsOption(const std::string& name, nb::handle paths);

/// The items of a mapping of any kind; those of None are none. TypeError names the option.
nb::dict MappingOption(const std::string& name, nb::handle value);

/// An option as Python gave it, or an error that names it, where nanobind would list signatures.
template <typename T>
T OptionValue(const std::string& name, nb::handle value) {
  T out{};
  if constexpr (std::is_same_v<T, bool>) {
    if (!nb::try_cast(value, out)) RefuseType(name, "True or False", value);
  } else if constexpr (std::is_integral_v<T>) {
    // A bool is a whole number to Python, but not what anyone means.
    if (PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr())) {
      RefuseType(name, "a whole number", value);
    }
    if (!nb::try_cast(value, out)) {
      using Limits = std::numeric_limits<T>;
      RefuseRange(name, std::to_string(Limits::min()), std::to_string(Limits::max()), value);
    }
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!nb::try_cast(value, out)) RefuseType(name, "a number", value);
  } else {
    if (!nb::try_cast(value, out)) RefuseType(name, "a string", value);
  }
  return out;
}

/// The same, or nothing for None.
template <typename T>
std::optional<T> OptionalValue(const std::string& name, nb::handle value) {
  if (value.is_none()) return std::nullopt;
  return OptionValue<T>(name, value);
}

}  // namespace easydata
