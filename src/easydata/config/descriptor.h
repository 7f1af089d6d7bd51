#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "easydata/config/field.h"
#include "easydata/config/problem.h"

namespace easydata::config {

/// An option with its type erased: Python classes, stubs and docs are made from it.
struct FieldDescriptor {
  std::string name;
  /// The Python annotation, such as "int | None".
  std::string type;
  std::string doc;
  FieldRules rules;
  /// The default as JSON; of a nested config, all of its defaults.
  Json default_value;
  /// The name of the config class when the option is a config itself.
  std::string config;
};

/// A config struct with its type erased.
struct ConfigDescriptor {
  std::string name;
  std::string doc;
  std::vector<FieldDescriptor> fields;
  /// Adds everything that is wrong with `json`, read as this config.
  std::function<void(const Json& json, const std::string& path, Problems* problems)> check;
  /// The config with every default filled in: equal configs give equal JSON.
  std::function<Json(const Json& json)> normalize;

  std::vector<std::string> field_names() const;
};

/// Adds a problem when `value` breaks a bound or is none of the choices, or when its feature has
/// not come yet.
void CheckRules(const FieldRules& rules, const Json& value, const Json& default_value,
                const std::string& path, Problems* problems);
/// Adds a problem for each key of `json` that is not in `names`, with the nearest name.
void CheckKeys(const Json& json, const std::vector<std::string>& names, const std::string& path,
               Problems* problems);
/// Puts the options of these names before all others, in this order.
void MoveToFront(std::span<const char* const> names, std::vector<FieldDescriptor>* fields);
/// The annotation with the choices in place of `str`.
std::string AnnotationOf(const std::string& type, const std::vector<std::string>& choices);

/// Visits the options of a config. Of several with one name the first is the config's own and hides
/// the others, of the parts that it is composed of.
template <DeclaredConfig C, typename Visit>
void ForEachField(const Visit& visit) {
  std::vector<std::string> seen;
  const auto once = [&](const auto& field) {
    if (std::find(seen.begin(), seen.end(), field.name) != seen.end()) return;
    seen.emplace_back(field.name);
    visit(field);
  };
  std::apply([&](const auto&... field) { (once(field), ...); }, C::Fields());
}

template <DeclaredConfig C>
std::vector<std::string> FieldNames() {
  std::vector<std::string> names;
  ForEachField<C>([&](const auto& field) { names.emplace_back(field.name); });
  return names;
}

/// The JSON of one option, with null for a default that None stands for.
template <DeclaredConfig C, typename F>
Json WriteField(const F& field, const C& config) {
  using Traits = ValueTraits<typename F::Value>;
  Json value = Traits::Write(field.Of(config));
  if (field.rules.or_none && value == Traits::Write(field.Of(C{}))) return nullptr;
  return value;
}

template <DeclaredConfig C>
Json WriteConfig(const C& config) {
  Json out = Json::object();
  ForEachField<C>([&](const auto& field) { out[field.name] = WriteField(field, config); });
  return out;
}

template <DeclaredConfig C, typename F>
void ReadField(const F& field, const Json& json, C* out, const std::string& path,
               Problems* problems) {
  const std::string at = JoinPath(path, field.name);
  auto found = json.find(field.name);
  if (found == json.end()) {
    if (field.rules.required) problems->push_back({Problem::Kind::kStructure, at, "is required"});
    return;
  }
  using T = typename F::Value;
  // A nested config given as null counts as not given.
  if ((DeclaredConfig<T> || field.rules.or_none) && found->is_null()) return;
  if (!ReadValue(*found, &field.Of(*out), at, problems)) return;
  CheckRules(field.rules, *found, ValueTraits<T>::Write(field.Of(C{})), at, problems);
}

/// Invalid, naming the first option that is out of its bounds or, where the struct has a Check(),
/// at odds with another one: "NAME: must be ...".
template <DeclaredConfig C>
Status CheckOptions(const C& options) {
  Problems problems;
  ForEachField<C>([&](const auto& field) {
    using Traits = ValueTraits<typename std::decay_t<decltype(field)>::Value>;
    const Json value = Traits::Write(field.Of(options));
    const Json preset = Traits::Write(field.Of(C{}));
    if (field.rules.or_none && value == preset) return;
    CheckRules(field.rules, value, preset, field.name, &problems);
  });
  if constexpr (requires { options.Check("", &problems); }) {
    if (problems.empty()) options.Check("", &problems);
  }
  if (problems.empty()) return Status::OK();
  return Status::Invalid(problems.front().path, ": ", problems.front().text);
}

/// Reads a config, and adds everything that is wrong with it to `problems`.
template <DeclaredConfig C>
void ReadConfig(const Json& json, C* out, const std::string& path, Problems* problems) {
  CheckKeys(json, FieldNames<C>(), path, problems);
  const size_t before = problems->size();
  ForEachField<C>([&](const auto& field) { ReadField<C>(field, json, out, path, problems); });
  // Rules that span options speak of well-formed options only, each within its own bounds.
  const std::vector<std::string> names = FieldNames<C>();
  const auto breaks = [&](const Problem& problem) {
    return problem.kind == Problem::Kind::kStructure ||
           std::any_of(names.begin(), names.end(), [&](const std::string& name) {
             return problem.path == JoinPath(path, name);
           });
  };
  const bool sound = std::none_of(problems->begin() + static_cast<std::ptrdiff_t>(before),
                                  problems->end(), breaks);
  if constexpr (requires { out->Check(path, problems); }) {
    if (sound) out->Check(path, problems);
  }
}

template <DeclaredConfig C>
struct ValueTraits<C> {
  static std::string Type() { return C::kName; }
  static std::string Expected() { return std::string("the options of a ") + C::kName; }
  static bool Fits(const Json& json) {
    return json.is_object() && !json.contains("$object") && !json.contains("$callable");
  }
  static Json Write(const C& value) { return WriteConfig(value); }
  static void Read(const Json& json, C* out, const std::string& path, Problems* problems) {
    ReadConfig(json, out, path, problems);
  }
};

template <DeclaredConfig C>
Result<C> FromJson(const Json& json) {
  C out;
  Problems problems;
  ReadValue(json, &out, "", &problems);
  ARROW_RETURN_NOT_OK(ToStatus(C::kName, problems));
  return out;
}

template <DeclaredConfig C>
ConfigDescriptor Describe() {
  ConfigDescriptor out;
  out.name = C::kName;
  out.doc = C::kDoc;
  const C defaults{};
  ForEachField<C>([&](const auto& field) {
    using T = typename std::decay_t<decltype(field)>::Value;
    FieldDescriptor d;
    d.name = field.name;
    d.type = AnnotationOf(ValueTraits<T>::Type(), field.rules.choices);
    if (field.rules.or_none) d.type += " | None";
    if (field.rules.reads_as) d.type = d.type.substr(0, d.type.rfind(" | None"));
    d.doc = field.doc;
    d.rules = field.rules;
    d.default_value = WriteField(field, defaults);
    if constexpr (DeclaredConfig<T>) d.config = T::kName;
    out.fields.push_back(std::move(d));
  });
  if constexpr (requires { C::kFirst; }) MoveToFront(C::kFirst, &out.fields);
  out.check = [](const Json& json, const std::string& path, Problems* problems) {
    C config;
    ReadValue(json, &config, path, problems);
  };
  out.normalize = [](const Json& json) {
    C config;
    Problems problems;
    ReadValue(json, &config, "", &problems);
    return WriteConfig(config);
  };
  return out;
}

}  // namespace easydata::config
