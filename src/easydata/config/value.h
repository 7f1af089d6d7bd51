#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "easydata/base/named_value.h"
#include "easydata/config/problem.h"

/// The one place that knows how option values of each C++ type are written in JSON and named in
/// Python.
namespace easydata::config {

/// A struct whose options are declared by `static FieldList Fields()`.
template <typename T>
concept DeclaredConfig = requires { T::Fields(); };

/// One path or several; a single one may be written as a string. In Python also rows in memory, for
/// which JSON holds only what they are.
struct Paths {
  std::vector<std::string> values;
  std::string object;
};

/// Values by name, in the order they were written.
template <typename V>
struct Named {
  std::vector<std::pair<std::string, V>> values;
};

/// Whether `json` stands for a Python object: {"$object": "..."} or {"$callable": "..."}.
inline bool Names(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string();
}

/// A Python callable by its import path, "package.module:name".
struct Callback {
  std::string import_path;
};

/// Any JSON value, passed on as it is.
struct AnyValue {
  Json value;
};

/// A tokenizer object that lives in Python only; JSON holds nothing but its import path.
struct LiveObject {
  std::string import_path;
};

/// Type(): the Python annotation. Expected(): what a message asks for. Fits(): the kind of JSON
/// value is right. Read(): takes the value, and adds to `problems` what is wrong inside it.
template <typename T>
struct ValueTraits;

/// An enum whose values have names: NamesOf(E) is a span of NamedValue<E>, found beside the enum.
template <typename E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) { NamesOf(value); };

/// The names of a field's values, where its type is an enum or an optional one; else none.
template <typename T>
struct Choices {
  static std::vector<std::string> Names() {
    std::vector<std::string> names;
    if constexpr (NamedEnum<T>) {
      for (const auto& known : NamesOf(T{})) names.emplace_back(known.name);
    }
    return names;
  }
};

template <typename T>
struct Choices<std::optional<T>> : Choices<T> {};

/// The traits of a type, erased once for each type: what visits options sees these alone, and is
/// compiled once.
struct OptionType {
  const std::type_info* id;
  std::string (*annotation)();
  std::string (*expected)();
  bool (*fits)(const Json& json);
  Json (*write)(const void* value);
  void (*read)(const Json& json, void* out, const std::string& path, Problems* problems);
  std::vector<std::string> (*choices)();
  /// Bounds that whole numbers of JSON do not have.
  bool is_never_negative;
  bool is_32_bit;
  /// The name of the config class where the value is a config itself; else null.
  const char* config = nullptr;
};

template <typename T>
constexpr OptionType ErasedType() {
  OptionType type = {
      .id = &typeid(T),
      .annotation = &ValueTraits<T>::Type,
      .expected = &ValueTraits<T>::Expected,
      .fits = &ValueTraits<T>::Fits,
      .write =
          [](const void* value) { return ValueTraits<T>::Write(*static_cast<const T*>(value)); },
      .read =
          [](const Json& json, void* out, const std::string& path, Problems* problems) {
            ValueTraits<T>::Read(json, static_cast<T*>(out), path, problems);
          },
      .choices = &Choices<T>::Names,
      .is_never_negative = std::is_unsigned_v<T> && !std::is_same_v<T, bool>,
      .is_32_bit = std::is_same_v<T, int32_t>,
  };
  if constexpr (requires { T::kName; }) type.config = T::kName;
  return type;
}

template <typename T>
inline constexpr OptionType kOptionType = ErasedType<T>();

/// Reads `json` as a value of the type when its kind fits; else adds the problem.
bool ReadValue(const OptionType& type, const Json& json, void* out, const std::string& path,
               Problems* problems);

template <typename T>
bool ReadValue(const Json& json, T* out, const std::string& path, Problems* problems) {
  return ReadValue(kOptionType<T>, json, out, path, problems);
}

template <>
struct ValueTraits<bool> {
  static std::string Type() { return "bool"; }
  static std::string Expected() { return "true or false"; }
  static bool Fits(const Json& json) { return json.is_boolean(); }
  static Json Write(bool value) { return value; }
  static void Read(const Json& json, bool* out, const std::string&, Problems*) {
    *out = json.get<bool>();
  }
};

/// Numbers below or above those of T are for the bounds of a field to refuse.
template <typename T>
  requires std::is_integral_v<T>
struct ValueTraits<T> {
  static std::string Type() { return "int"; }
  static std::string Expected() { return "a whole number"; }
  static bool Fits(const Json& json) {
    return json.is_number_integer() &&
           (!json.is_number_unsigned() ||
            json.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  }
  static Json Write(T value) { return value; }
  static void Read(const Json& json, T* out, const std::string&, Problems*) {
    *out = static_cast<T>(json.get<int64_t>());
  }
};

template <NamedEnum E>
struct ValueTraits<E> {
  static std::string Type() { return "str"; }
  static std::string Expected() { return "text"; }
  static bool Fits(const Json& json) { return json.is_string(); }
  static Json Write(E value) { return NameOf(NamesOf(value), value); }
  /// Other names are for the choices of a field to refuse.
  static void Read(const Json& json, E* out, const std::string&, Problems*) {
    *out = ValueOf(NamesOf(*out), json.get_ref<const std::string&>()).value_or(*out);
  }
};

template <>
struct ValueTraits<double> {
  static std::string Type() { return "float"; }
  static std::string Expected() { return "a number"; }
  static bool Fits(const Json& json) { return json.is_number(); }
  static Json Write(double value) { return value; }
  static void Read(const Json& json, double* out, const std::string&, Problems*) {
    *out = json.get<double>();
  }
};

template <>
struct ValueTraits<std::string> {
  static std::string Type() { return "str"; }
  static std::string Expected() { return "text"; }
  static bool Fits(const Json& json) { return json.is_string(); }
  static Json Write(const std::string& value) { return value; }
  static void Read(const Json& json, std::string* out, const std::string&, Problems*) {
    *out = json.get<std::string>();
  }
};

template <>
struct ValueTraits<Callback> {
  static std::string Type() { return "Callable[[dict[str, Any]], Any]"; }
  static std::string Expected() { return "a callable, or its import path \"package.module:name\""; }
  static bool Fits(const Json& json) {
    return Names(json, "$callable") ||
           (json.is_string() && json.get_ref<const std::string&>().find(':') != std::string::npos);
  }
  static Json Write(const Callback& value) { return value.import_path; }
  static void Read(const Json& json, Callback* out, const std::string&, Problems*) {
    out->import_path = (json.is_string() ? json : json["$callable"]).get<std::string>();
  }
};

template <>
struct ValueTraits<LiveObject> {
  static std::string Type() { return "Any"; }
  static std::string Expected() { return "a tokenizer object"; }
  static bool Fits(const Json& json) { return Names(json, "$object"); }
  static Json Write(const LiveObject& value) { return Json{{"$object", value.import_path}}; }
  static void Read(const Json& json, LiveObject* out, const std::string&, Problems*) {
    out->import_path = json["$object"].get<std::string>();
  }
};

template <>
struct ValueTraits<AnyValue> {
  static std::string Type() { return "Any"; }
  static std::string Expected() { return "any value"; }
  static bool Fits(const Json&) { return true; }
  static Json Write(const AnyValue& value) { return value.value; }
  static void Read(const Json& json, AnyValue* out, const std::string&, Problems*) {
    out->value = json;
  }
};

template <>
struct ValueTraits<Paths> {
  static std::string Type() {
    return "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Any";
  }
  static std::string Expected() { return "a path, or a list of paths"; }
  static bool Fits(const Json& json) {
    return json.is_string() || json.is_array() || Names(json, "$object");
  }
  static Json Write(const Paths& value) {
    if (!value.object.empty()) return Json{{"$object", value.object}};
    return value.values.size() == 1 ? Json(value.values[0]) : Json(value.values);
  }
  static void Read(const Json& json, Paths* out, const std::string& path, Problems* problems) {
    if (json.is_object()) {
      out->object = json["$object"].get<std::string>();
      return;
    }
    if (json.is_string()) {
      out->values = {json.get<std::string>()};
    } else {
      for (size_t i = 0; i < json.size(); ++i) {
        if (json[i].is_string()) {
          out->values.push_back(json[i].get<std::string>());
        } else {
          problems->push_back({Problem::Kind::kStructure, path + "[" + std::to_string(i) + "]",
                               "must be a path, not " + Shown(json[i])});
        }
      }
    }
    for (const std::string& value : out->values) {
      if (value.empty())
        problems->push_back({Problem::Kind::kValue, path, "must not hold an empty path"});
    }
    if (out->values.empty())
      problems->push_back({Problem::Kind::kValue, path, "is required: name at least one file"});
  }
};

/// Numbers by integer key, such as {step: factor}; the keys are strings in JSON, and an empty map
/// is null.
template <>
struct ValueTraits<std::map<int64_t, int64_t>> {
  static std::string Type() { return "dict[int, int]"; }
  static std::string Expected() { return "whole numbers by whole number"; }
  static bool Fits(const Json& json) { return json.is_object(); }
  static Json Write(const std::map<int64_t, int64_t>& value) {
    Json out = Json::object();
    for (const auto& [key, number] : value) out[std::to_string(key)] = number;
    return out;
  }
  static void Read(const Json& json, std::map<int64_t, int64_t>* out, const std::string& path,
                   Problems* problems) {
    for (const auto& [key, number] : json.items()) {
      const bool whole = !key.empty() && key.find_first_not_of("0123456789") == std::string::npos &&
                         key.size() < 19;
      if (!whole || !ValueTraits<int64_t>::Fits(number)) {
        problems->push_back({Problem::Kind::kStructure, path + "[" + key + "]",
                             "must be a whole number by a step, not " + Shown(number)});
        continue;
      }
      (*out)[std::stoll(key)] = number.get<int64_t>();
    }
  }
};

template <typename T>
struct ValueTraits<std::optional<T>> {
  static std::string Type() { return ValueTraits<T>::Type() + " | None"; }
  static std::string Expected() { return ValueTraits<T>::Expected() + ", or nothing"; }
  static bool Fits(const Json& json) { return json.is_null() || ValueTraits<T>::Fits(json); }
  static Json Write(const std::optional<T>& value) {
    return value ? ValueTraits<T>::Write(*value) : Json(nullptr);
  }
  static void Read(const Json& json, std::optional<T>* out, const std::string& path,
                   Problems* problems) {
    out->reset();
    if (!json.is_null()) ValueTraits<T>::Read(json, &out->emplace(), path, problems);
  }
};

template <typename T>
struct ValueTraits<std::vector<T>> {
  static std::string Type() { return "list[" + ValueTraits<T>::Type() + "]"; }
  static std::string Expected() { return "a list"; }
  static bool Fits(const Json& json) { return json.is_array(); }
  static Json Write(const std::vector<T>& value) {
    Json out = Json::array();
    for (const T& item : value) out.push_back(ValueTraits<T>::Write(item));
    return out;
  }
  static void Read(const Json& json, std::vector<T>* out, const std::string& path,
                   Problems* problems) {
    out->clear();
    for (size_t i = 0; i < json.size(); ++i) {
      ReadValue(json[i], &out->emplace_back(), path + "[" + std::to_string(i) + "]", problems);
    }
  }
};

template <typename V>
struct ValueTraits<Named<V>> {
  static std::string Type() { return "dict[str, " + ValueTraits<V>::Type() + "]"; }
  static std::string Expected() { return "values by name"; }
  static bool Fits(const Json& json) { return json.is_object(); }
  static Json Write(const Named<V>& value) {
    Json out = Json::object();
    for (const auto& [key, item] : value.values) out[key] = ValueTraits<V>::Write(item);
    return out;
  }
  static void Read(const Json& json, Named<V>* out, const std::string& path, Problems* problems) {
    out->values.clear();
    for (const auto& [key, item] : json.items()) {
      V value{};
      if (ReadValue(item, &value, path + "[\"" + key + "\"]", problems))
        out->values.emplace_back(key, value);
    }
  }
};

template <typename... Ts>
struct ValueTraits<std::variant<Ts...>> {
  static std::string Type() {
    std::string out;
    ((out += (out.empty() ? "" : " | ") + ValueTraits<Ts>::Type()), ...);
    return out;
  }
  static std::string Expected() {
    std::string out;
    ((out += (out.empty() ? "" : " or ") + ValueTraits<Ts>::Expected()), ...);
    return out;
  }
  static bool Fits(const Json& json) { return (ValueTraits<Ts>::Fits(json) || ...); }
  static Json Write(const std::variant<Ts...>& value) {
    return std::visit(
        [](const auto& v) { return ValueTraits<std::decay_t<decltype(v)>>::Write(v); }, value);
  }
  static void Read(const Json& json, std::variant<Ts...>* out, const std::string& path,
                   Problems* problems) {
    bool read = false;
    (ReadOne<Ts>(json, out, path, problems, &read), ...);
  }

 private:
  template <typename T>
  static void ReadOne(const Json& json, std::variant<Ts...>* out, const std::string& path,
                      Problems* problems, bool* read) {
    if (*read || !ValueTraits<T>::Fits(json)) return;
    ValueTraits<T>::Read(json, &out->template emplace<T>(), path, problems);
    *read = true;
  }
};

}  // namespace easydata::config
