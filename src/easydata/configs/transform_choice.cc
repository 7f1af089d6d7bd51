#include "easydata/configs/transform_choice.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "easydata/base/nearest_name.h"
#include "easydata/stream/column_types.h"
#include "easydata/trainer/example_options.h"

namespace easydata::configs {
namespace {

using config::Json;
using config::Problem;
using config::Problems;

/// A transform by its name in configs.
struct NamedTransform {
  const char* name;
  void (*check)(const Json& options, const std::string& path, Problems* problems);
  const config::ConfigType& options;
};

template <config::DeclaredConfig O>
void CheckOptionsOf(const Json& options, const std::string& path, Problems* problems) {
  O read;
  const size_t before = problems->size();
  config::ReadConfig(options, &read, path, problems);
  if (problems->size() > before) return;
  const Status status = read.Validate();
  if (!status.ok()) problems->push_back({Problem::Kind::kValue, path, status.message()});
}

template <config::DeclaredConfig O>
NamedTransform TransformCalled(const char* name) {
  return {name, &CheckOptionsOf<O>, config::ConfigTypeOf<O>()};
}

const std::vector<NamedTransform>& AllTransforms() {
  using trainer::PreferenceOptions;
  using trainer::PromptOptions;
  using trainer::UnpairedOptions;
  static const std::vector<NamedTransform> all = {
      TransformCalled<trainer::SftOptions>("sft"),
      TransformCalled<PreferenceOptions>("dpo"),
      TransformCalled<PreferenceOptions>("orpo"),
      TransformCalled<PreferenceOptions>("cpo"),
      TransformCalled<UnpairedOptions>("kto"),
      TransformCalled<UnpairedOptions>("bco"),
      TransformCalled<PromptOptions>("grpo"),
      TransformCalled<PromptOptions>("ppo"),
      TransformCalled<trainer::RewardOptions>("reward"),
      TransformCalled<trainer::EmbeddingOptions>("embedding"),
  };
  return all;
}

/// How a step of columns is written.
std::string ExampleOfStep(const std::string& name) {
  if (name == "rename") return "{rename: {old: new}}";
  if (name == "cast") return "{cast: {score: float64}}";
  if (name == "add_field") return "{add_field: {lang: en}}";
  return "{" + name + ": [column, ...]}";
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& each : names) all.append(all.empty() ? "" : ", ").append(each);
  return all;
}

std::vector<std::string> TransformNames() {
  std::vector<std::string> names;
  for (const NamedTransform& known : AllTransforms()) names.emplace_back(known.name);
  return names;
}

/// The names of transforms, and of steps where a list has them too.
std::vector<std::string> KnownNames(bool in_list) {
  std::vector<std::string> names = TransformNames();
  if (in_list) {
    const std::vector<std::string> steps = config::FieldNames<ColumnSteps>();
    names.insert(names.begin(), steps.begin(), steps.end());
  }
  return names;
}

void CheckNamed(const std::string& name, const Json& options, bool in_list, const std::string& path,
                Problems* problems) {
  for (const NamedTransform& known : AllTransforms()) {
    if (known.name != name) continue;
    const std::vector<std::string> own = known.options.names();
    std::vector<std::string> keys = own;
    for (const config::Parameter& parameter : known.options.parameters) {
      keys.emplace_back(parameter.name);
    }
    config::CheckKeys(options, keys, path, problems);
    Json declared = options;
    for (const auto& [key, value] : options.items()) {
      if (std::find(own.begin(), own.end(), key) == own.end()) declared.erase(key);
    }
    known.check(declared, path, problems);
    return;
  }
  const std::vector<std::string> names = KnownNames(in_list);
  std::string said = "= " + config::Shown(Json(name)) + " is no transform" +
                     Suggestion(name, names) + "; known by name are " + ListOf(names) +
                     "; others by import path, \"package.module:name\"";
  const std::vector<std::string> steps = config::FieldNames<ColumnSteps>();
  if (std::find(steps.begin(), steps.end(), name) != steps.end()) {
    said = in_list ? "= " + config::Shown(Json(name)) +
                         " needs what it is to act on: " + ExampleOfStep(name)
                   : "= " + config::Shown(Json(name)) + " is a step of a list: transforms: [" +
                         ExampleOfStep(name) + "]";
  }
  problems->push_back({Problem::Kind::kValue, path, said});
}

/// The options of {name: sft, ...}; nothing, with a problem, where the name is missing.
std::optional<std::string> TakeName(const config::Named<config::AnyValue>& named, Json* options) {
  std::optional<std::string> name;
  for (const auto& [key, value] : named.values) {
    if (key == "name" && value.value.is_string()) {
      name = value.value.get<std::string>();
    } else {
      (*options)[key] = value.value;
    }
  }
  return name;
}

void CheckColumnStep(const std::string& name, const Json& value, const std::string& path,
                     Problems* problems) {
  const std::string at = config::JoinPath(path, name);
  ColumnSteps read;
  const size_t before = problems->size();
  config::ReadConfig(Json{{name, value}}, &read, path, problems);
  if (problems->size() > before) return;
  if (value.is_null() || value.empty()) {
    problems->push_back(
        {Problem::Kind::kValue, at, "needs what it is to act on: " + ExampleOfStep(name)});
    return;
  }
  if (!read.cast.has_value()) return;
  const auto types = ColumnTypes::Make(read.cast->values);
  if (types.ok()) return;
  problems->push_back({Problem::Kind::kValue, at, types.status().message()});
}

/// A member of a list with a name as its only key: {rename: {old: new}}, {sft: {max_length: 1024}}.
void CheckKeyed(const Json& step, const std::string& path, Problems* problems) {
  if (step.size() != 1) {
    std::vector<std::string> names;
    for (const auto& [key, value] : step.items()) names.push_back(key);
    problems->push_back(
        {Problem::Kind::kStructure, path,
         step.empty() ? "must name a transform: " + ExampleOfStep("rename")
                      : "names " + std::to_string(names.size()) + " (" + ListOf(names) +
                            "); each needs a place of its own in the list, which is their order"});
    return;
  }
  const std::string& name = step.begin().key();
  const Json& value = step.begin().value();
  const std::vector<std::string> steps = config::FieldNames<ColumnSteps>();
  if (std::find(steps.begin(), steps.end(), name) != steps.end()) {
    CheckColumnStep(name, value, path, problems);
    return;
  }
  const std::vector<std::string> known = TransformNames();
  const bool is_made = name.find(':') != std::string::npos;  // of a class, by its import path
  if (!is_made && std::find(known.begin(), known.end(), name) == known.end()) {
    CheckNamed(name, Json::object(), /*in_list=*/true, path, problems);
  } else if (!value.is_null() && !value.is_object()) {
    problems->push_back({Problem::Kind::kStructure, config::JoinPath(path, name),
                         "must be options by name, not " + config::Shown(value)});
  } else if (!is_made && value.is_object()) {
    CheckNamed(name, value, /*in_list=*/true, config::JoinPath(path, name), problems);
  }
}

}  // namespace

config::FieldList ColumnSteps::Fields() {
  using S = ColumnSteps;
  return {
      config::Field{"rename", &S::rename, "Renames columns: {old: new}."},
      config::Field{"select", &S::select, "Keeps these columns alone."},
      config::Field{"drop", &S::drop, "Leaves these columns out."},
      config::Field{"cast", &S::cast, "Gives columns types: {score: float64, meta.id: string}."},
      config::Field{"add_field", &S::add_field, "Adds columns of one value: {lang: en}."},
      config::Field{"filter_non_empty", &S::filter_non_empty,
                    "Leaves out rows in which one of these columns is missing, null, \"\" or []."},
  };
}

std::vector<std::string> NodesOfSteps() {
  std::vector<std::string> nodes = config::FieldNames<ColumnSteps>();
  nodes.insert(nodes.end(), {"examples", "map"});
  return nodes;
}

void CheckTransform(const TransformChoice& choice, const std::string& path, Problems* problems) {
  if (const auto* text = std::get_if<std::string>(&choice)) {
    if (text->find(':') != std::string::npos) return;  // an import path
    CheckNamed(*text, Json::object(), /*in_list=*/false, path, problems);
  } else if (const auto* named = std::get_if<config::Named<config::AnyValue>>(&choice)) {
    Json options = Json::object();
    const std::optional<std::string> name = TakeName(*named, &options);
    if (!name.has_value() || name->empty()) {
      problems->push_back({Problem::Kind::kStructure, path,
                           "must have a name: {name: sft, max_length: 1024, ...}"});
      return;
    }
    CheckNamed(*name, options, /*in_list=*/false, path, problems);
  }
}

void CheckTransforms(const std::vector<TransformChoice>& choices, const std::string& path,
                     Problems* problems) {
  for (size_t i = 0; i < choices.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    const TransformChoice& choice = choices[i];
    if (const auto* text = std::get_if<std::string>(&choice)) {
      if (text->find(':') == std::string::npos) {
        CheckNamed(*text, Json::object(), /*in_list=*/true, at, problems);
      }
    } else if (const auto* named = std::get_if<config::Named<config::AnyValue>>(&choice)) {
      Json options = Json::object();
      if (const std::optional<std::string> name = TakeName(*named, &options)) {
        CheckNamed(*name, options, /*in_list=*/true, at, problems);
      } else {
        CheckKeyed(options, at, problems);
      }
    }
  }
}

}  // namespace easydata::configs
