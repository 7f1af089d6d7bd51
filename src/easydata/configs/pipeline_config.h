#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "easydata/configs/stage_configs.h"

namespace easydata::configs {

struct PipelineConfig {
  static constexpr const char* kName = "PipelineConfig";
  static constexpr const char* kDoc =
      "A whole pipeline: its datasets and the options of every stage.";

  std::vector<DatasetConfig> datasets;
  std::optional<AnyTokenizer> default_tokenizer;
  bool streaming = true;
  std::optional<int64_t> seed;
  SourceStageConfig source;
  TokenizeStageConfig tokenize;
  CacheStageConfig cache;
  MixStageConfig mix;
  PackStageConfig pack;
  LoadStageConfig load;
  SaveStageConfig save;
  RayConfig ray;
  ObservabilityConfig observability;

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const;

  /// The names of the datasets; one without a name is "dataset_<position>".
  std::vector<std::string> dataset_names() const;
};

}  // namespace easydata::configs
