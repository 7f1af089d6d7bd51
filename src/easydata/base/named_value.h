#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata {

/// A value of an enum with its name for users.
template <typename T>
struct NamedValue {
  const char* name;
  T value;
};

/// Finds the value of a name; nothing where it is none of them.
template <typename T>
std::optional<T> ValueOf(std::span<const NamedValue<T>> known, std::string_view name) {
  for (const auto& each : known) {
    if (each.name == name) return each.value;
  }
  return std::nullopt;
}

/// Finds the value of a name. Invalid, with all names, where it is none of them; `what` says what
/// they are names of.
template <typename T>
Result<T> ParseName(std::span<const NamedValue<T>> known, const char* what,
                    const std::string& name) {
  if (const auto value = ValueOf(known, name)) return *value;
  std::string names;
  for (const auto& each : known) {
    if (!names.empty()) names += &each == &known.back() ? " or " : ", ";
    names += "\"" + std::string(each.name) + "\"";
  }
  return Status::Invalid("unknown ", what, "; use ", names, ": \"", name, "\"");
}

template <typename T, size_t n>
Result<T> ParseName(const NamedValue<T> (&known)[n], const char* what, const std::string& name) {
  return ParseName(std::span<const NamedValue<T>>(known), what, name);
}

/// Returns the name of a value; "" where it has none.
template <typename T>
const char* NameOf(std::span<const NamedValue<T>> known, T value) {
  for (const auto& each : known) {
    if (each.value == value) return each.name;
  }
  return "";
}

template <typename T, size_t n>
const char* NameOf(const NamedValue<T> (&known)[n], T value) {
  return NameOf(std::span<const NamedValue<T>>(known), value);
}

}  // namespace easydata
