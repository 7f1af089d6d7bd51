#include "easydata/config/registry.h"

#include "easydata/base/hash.h"
#include "easydata/base/nearest_name.h"
#include "easydata/config/pipeline_config.h"

namespace easydata::config {

const std::vector<ConfigDescriptor>& AllConfigs() {
  static const std::vector<ConfigDescriptor> configs = {
      Describe<TokenizerConfig>(),   Describe<DatasetConfig>(),
      Describe<SourceStageConfig>(), Describe<TokenizeStageConfig>(),
      Describe<CacheStageConfig>(),  Describe<WeightSchedulePoint>(),
      Describe<MixStageConfig>(),    Describe<PackStageConfig>(),
      Describe<LoadStageConfig>(),   Describe<SaveStageConfig>(),
      Describe<RayConfig>(),         Describe<ObservabilityConfig>(),
      Describe<PipelineConfig>(),
  };
  return configs;
}

Result<const ConfigDescriptor*> FindConfig(const std::string& name) {
  std::vector<std::string> names;
  for (const ConfigDescriptor& config : AllConfigs()) {
    if (config.name == name) return &config;
    names.push_back(config.name);
  }
  return Status::KeyError("there is no config \"", name, "\"", Suggestion(name, names));
}

Result<Problems> Validate(const std::string& name, const Json& json) {
  ARROW_ASSIGN_OR_RAISE(const ConfigDescriptor* config, FindConfig(name));
  Problems problems;
  config->check(json, "", &problems);
  return problems;
}

Result<std::string> ConfigHash(const std::string& name, const Json& json) {
  ARROW_ASSIGN_OR_RAISE(const ConfigDescriptor* config, FindConfig(name));
  Problems problems;
  config->check(json, "", &problems);
  ARROW_RETURN_NOT_OK(ToStatus(name, problems));
  return ToHex(Hash64(name + " " + config->normalize(json).dump()));
}

}  // namespace easydata::config
