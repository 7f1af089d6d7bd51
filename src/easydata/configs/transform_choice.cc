#include "easydata/configs/transform_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "easydata/base/nearest_name.h"
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

}  // namespace

void CheckTransform(const TransformChoice& choice, const std::string& path, Problems* problems) {
  std::string name;
  Json options = Json::object();
  if (const auto* text = std::get_if<std::string>(&choice)) {
    if (text->find(':') != std::string::npos) return;  // an import path
    name = *text;
  } else if (const auto* named = std::get_if<config::Named<config::AnyValue>>(&choice)) {
    for (const auto& [key, value] : named->values) {
      if (key == "name" && value.value.is_string()) {
        name = value.value.get<std::string>();
      } else {
        options[key] = value.value;
      }
    }
    if (name.empty()) {
      problems->push_back({Problem::Kind::kStructure, path,
                           "must have a name: {name: sft, max_length: 1024, ...}"});
      return;
    }
  } else {
    return;
  }
  std::vector<std::string> names;
  for (const NamedTransform& known : AllTransforms()) {
    names.emplace_back(known.name);
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
  problems->push_back({Problem::Kind::kValue, path,
                       "= " + config::Shown(Json(name)) + " is no transform" +
                           Suggestion(name, names) + "; known by name are " +
                           [&] {
                             std::string all;
                             for (const auto& each : names) all += (all.empty() ? "" : ", ") + each;
                             return all;
                           }() +
                           "; others by import path, \"package.module:name\""});
}

}  // namespace easydata::configs
