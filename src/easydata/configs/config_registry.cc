#include "easydata/configs/config_registry.h"

#include "easydata/base/hash.h"
#include "easydata/base/nearest_name.h"
#include "easydata/configs/pipeline_config.h"
#include "easydata/source/grain_order_stage.h"
#include "easydata/trainer/example_options.h"

namespace easydata::configs {

const std::vector<config::ConfigDescriptor>& AllConfigs() {
  static const std::vector<config::ConfigDescriptor> configs = {
      config::Describe<TokenizerConfig>(),   config::Describe<DatasetConfig>(),
      config::Describe<SourceStageConfig>(), config::Describe<TokenizeStageConfig>(),
      config::Describe<CacheStageConfig>(),  config::Describe<WeightSchedulePoint>(),
      config::Describe<MixStageConfig>(),    config::Describe<PackStageConfig>(),
      config::Describe<LoadStageConfig>(),   config::Describe<SaveStageConfig>(),
      config::Describe<RayConfig>(),         config::Describe<ObservabilityConfig>(),
      config::Describe<PipelineConfig>(),
  };
  return configs;
}

const std::vector<config::ConfigDescriptor>& AllOptions() {
  static const std::vector<config::ConfigDescriptor> options = {
      config::Describe<pack::PackOptions>(),
      config::Describe<plan::PackedOptions>(),
      config::Describe<plan::LoadOptions>(),
      config::Describe<mix::MixOptions>(),
      config::Describe<VocabularyOptions>(),
      config::Describe<sink::WriteOptions>(),
      config::Describe<source::ErrorPolicy>(),
      config::Describe<source::CsvOptions>(),
      config::Describe<source::TokenFileOptions>(),
      config::Describe<source::SourceShuffleOptions>(),
      config::Describe<transform::PartOptions>(),
      config::Describe<source::SourceStageOptions>(),
      config::Describe<source::GrainOrderOptions>(),
      config::Describe<transform::TokenizeOptions>(),
      config::Describe<trainer::SftOptions>(),
      config::Describe<trainer::PreferenceOptions>(),
      config::Describe<trainer::UnpairedOptions>(),
      config::Describe<trainer::PromptOptions>(),
      config::Describe<trainer::RewardOptions>(),
      config::Describe<trainer::EmbeddingOptions>()};
  return options;
}

Result<const config::ConfigDescriptor*> FindConfig(const std::string& name) {
  std::vector<std::string> names;
  for (const config::ConfigDescriptor& config : AllConfigs()) {
    if (config.name == name) return &config;
    names.push_back(config.name);
  }
  return Status::KeyError("there is no config \"", name, "\"", Suggestion(name, names));
}

Result<config::Problems> Validate(const std::string& name, const config::Json& json) {
  ARROW_ASSIGN_OR_RAISE(const config::ConfigDescriptor* config, FindConfig(name));
  config::Problems problems;
  config->check(json, "", &problems);
  return problems;
}

Result<std::string> ConfigHash(const std::string& name, const config::Json& json) {
  ARROW_ASSIGN_OR_RAISE(const config::ConfigDescriptor* config, FindConfig(name));
  config::Problems problems;
  config->check(json, "", &problems);
  ARROW_RETURN_NOT_OK(config::ToStatus(name, problems));
  return ToHex(Hash64(name + " " + config->normalize(json).dump()));
}

}  // namespace easydata::configs
