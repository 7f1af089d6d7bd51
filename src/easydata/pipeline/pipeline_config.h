#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "easydata/pipeline/stage_configs.h"

namespace easydata::pipeline {

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

  static auto Fields() {
    using C = PipelineConfig;
    return std::tuple{
        config::Field{"datasets", &C::datasets, "The datasets, at least one."}.Required(),
        config::Field{
            "default_tokenizer", &C::default_tokenizer,
            "Tokenizer of datasets that name none, where the tokenize stage names none either."},
        config::Field{
            "streaming", &C::streaming,
            "Stream Hub datasets instead of downloading them first; local files are always read "
            "as they are needed."},
        config::Field{"seed", &C::seed, "Seed of everything that is shuffled or mixed; unset: 0."}
            .AtLeast(0),
        config::Field{"source", &C::source, "Options of reading."},
        config::Field{"tokenize", &C::tokenize, "Options of tokenizing."},
        config::Field{"cache", &C::cache, "Options of caching."},
        config::Field{"mix", &C::mix, "Options of mixing."},
        config::Field{"pack", &C::pack, "Options of packing."},
        config::Field{"load", &C::load, "Options of loading."},
        config::Field{"save", &C::save, "Options of saving."},
        config::Field{"ray", &C::ray, "Options of Ray."},
        config::Field{"observability", &C::observability, "Progress, metrics and log."},
    };
  }

  void Check(const std::string& path, config::Problems* problems) const;

  /// The names of the datasets; one without a name is "dataset_<position>".
  std::vector<std::string> dataset_names() const;
};

}  // namespace easydata::pipeline
