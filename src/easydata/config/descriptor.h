#pragma once

#include <functional>
#include <string>
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
  std::vector<Parameter> parameters;
  /// Adds everything that is wrong with `json`, read as this config.
  std::function<void(const Json& json, const std::string& path, Problems* problems)> check;
  /// The config with every default filled in: equal configs give equal JSON.
  std::function<Json(const Json& json)> normalize;

  std::vector<std::string> field_names() const;
};

/// [{"name", "doc", "fields": [{"name", "type", "doc", "default", "reads_as", "required", "secret",
/// "differs", "config", "acting", "comes_later"}], "parameters": {name: doc}}], for what is made of
/// them elsewhere. "acting" is {"nodes", "beside": [{"option", "values"}], "superseded_by": the
/// like, "compatibility"}.
Json DescriptorsAsJson(const std::vector<ConfigDescriptor>& configs);

/// Adds a problem when `value` breaks a bound or is none of the choices, or when its feature has
/// not come yet.
void CheckRules(const FieldRules& rules, const Json& value, const Json& default_value,
                const std::string& path, Problems* problems);
/// Adds a problem for each key of `json` that is not in `names`, with the nearest name.
void CheckKeys(const Json& json, const std::vector<std::string>& names, const std::string& path,
               Problems* problems);

template <DeclaredConfig C>
std::vector<std::string> FieldNames() {
  return ConfigTypeOf<C>().names();
}

template <DeclaredConfig C>
Json WriteConfig(const C& config) {
  return WriteConfig(ConfigTypeOf<C>(), &config);
}

template <DeclaredConfig C>
void ReadConfig(const Json& json, C* out, const std::string& path, Problems* problems) {
  ReadConfig(ConfigTypeOf<C>(), json, out, path, problems);
}

/// Invalid, naming the first option that is out of its bounds or, where the struct has a Check(),
/// at odds with another one: "NAME: must be ...".
Status CheckOptions(const ConfigType& type, const void* options);

template <DeclaredConfig C>
Status CheckOptions(const C& options) {
  return CheckOptions(ConfigTypeOf<C>(), &options);
}

template <DeclaredConfig C>
Result<C> FromJson(const Json& json) {
  C out;
  Problems problems;
  ReadValue(json, &out, "", &problems);
  ARROW_RETURN_NOT_OK(ToStatus(C::kName, problems));
  return out;
}

ConfigDescriptor Describe(const ConfigType& type);

template <DeclaredConfig C>
ConfigDescriptor Describe() {
  return Describe(ConfigTypeOf<C>());
}

}  // namespace easydata::config
