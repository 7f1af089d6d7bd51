#pragma once

#include <cstddef>
#include <string>

#include "easydata/base/status.h"

namespace easydata {

/// A value of an enum with the name that users know it by.
template <typename T>
struct NamedValue {
  const char* name;
  T value;
};

/// Finds the value of a name. Invalid, with the names that there are, where it is none of them;
/// `what` says what they are names of.
template <typename T, size_t n>
Result<T> ParseName(const NamedValue<T> (&known)[n], const char* what, const std::string& name) {
  std::string names;
  for (const auto& each : known) {
    if (each.name == name) return each.value;
    if (!names.empty()) names += &each == &known[n - 1] ? " or " : ", ";
    names += "\"" + std::string(each.name) + "\"";
  }
  return Status::Invalid("unknown ", what, "; use ", names, ": \"", name, "\"");
}

/// Gives the name of a value; "" where it has none.
template <typename T, size_t n>
const char* NameOf(const NamedValue<T> (&known)[n], T value) {
  for (const auto& each : known) {
    if (each.value == value) return each.name;
  }
  return "";
}

}  // namespace easydata
