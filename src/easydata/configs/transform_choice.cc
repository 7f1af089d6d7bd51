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
  std::vector<std::string> (*options)();
  /// What it takes besides: parameters of Python's class.
  std::vector<std::string> others;
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
NamedTransform TransformCalled(const char* name, std::vector<std::string> others) {
  for (const char* each : {"chat_template", "chat_template_kwargs", "role_mapping"}) {
    others.emplace_back(each);
  }
  return {name, &CheckOptionsOf<O>, &config::FieldNames<O>, std::move(others)};
}

const std::vector<NamedTransform>& AllTransforms() {
  using trainer::PreferenceOptions;
  using trainer::PromptOptions;
  using trainer::UnpairedOptions;
  static const std::vector<NamedTransform> all = {
      TransformCalled<trainer::SftOptions>("sft", {"formatting_func"}),
      TransformCalled<PreferenceOptions>("dpo", {"tools"}),
      TransformCalled<PreferenceOptions>("orpo", {"tools"}),
      TransformCalled<PreferenceOptions>("cpo", {"tools"}),
      TransformCalled<UnpairedOptions>("kto", {"tools", "embedding_tokenizer"}),
      TransformCalled<UnpairedOptions>("bco", {"tools", "embedding_tokenizer"}),
      TransformCalled<PromptOptions>("grpo", {"tools"}),
      TransformCalled<PromptOptions>("ppo", {"tools"}),
      TransformCalled<trainer::RewardOptions>("reward", {}),
      {"embedding",
       &CheckOptionsOf<trainer::EmbeddingOptions>,
       &config::FieldNames<trainer::EmbeddingOptions>,
       {}},
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
    std::vector<std::string> keys = known.options();
    keys.insert(keys.end(), known.others.begin(), known.others.end());
    config::CheckKeys(options, keys, path, problems);
    Json declared = options;
    const std::vector<std::string> own = known.options();
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
