#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "easydata/configs/dataset_config.h"
#include "easydata/mix/mix_order.h"
#include "easydata/plan/load_plan.h"
#include "easydata/plan/packed_plan.h"
#include "easydata/sink/stream_writer.h"

/// The options of the pipeline's stages.
namespace easydata::configs {

struct SourceStageConfig {
  static constexpr const char* kName = "SourceStageConfig";
  static constexpr const char* kDoc = "How data is read.";
  static constexpr const char* kNodes[] = {"source"};

  bool streaming = true;
  std::optional<int64_t> cloud_max_retries;
  std::optional<double> cloud_retry_delay;
  std::optional<config::Named<config::AnyValue>> dask_storage_options;

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const {
    if (!dask_storage_options) return;
    CheckStorageOptions(*dask_storage_options, config::JoinPath(path, "dask_storage_options"),
                        problems);
  }
};

struct TokenizeStageConfig {
  static constexpr const char* kName = "TokenizeStageConfig";
  static constexpr const char* kDoc =
      "How text becomes tokens, where a dataset does not say otherwise.";
  static constexpr const char* kNodes[] = {"tokenize"};

  std::optional<AnyTokenizer> default_tokenizer;
  std::optional<int64_t> max_length;
  int64_t batch_size = 1000;
  int64_t num_workers = 4;
  bool cache_tokenized = true;
  std::optional<std::vector<std::string>> remove_columns;
  bool truncation = true;

  static config::FieldList Fields();
};

struct CacheStageConfig {
  static constexpr const char* kName = "CacheStageConfig";
  static constexpr const char* kDoc =
      "Keeps rows that were made of files, tokens above all, so that they are made once. Given to "
      "a "
      "pipeline, even with its defaults alone, it keeps the tokens of every dataset.";
  static constexpr const char* kNodes[] = {"cache"};

  bool enabled = true;
  std::string cache_type = "hierarchical";
  std::string cache_dir = ".cache/easydel_pipeline";
  int64_t memory_cache_size = 100;
  std::optional<int64_t> disk_cache_expiry = 86400;
  std::string compression = "none";
  std::string hash_fn = "combined";
  std::optional<std::variant<std::string, int64_t>> max_bytes;

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const;
};

struct WeightSchedulePoint {
  static constexpr const char* kName = "WeightSchedulePoint";
  static constexpr const char* kDoc = "The weights of a mixture from one step on.";
  static constexpr const char* kNodes[] = {"mix"};

  int64_t step = 0;
  config::Named<double> weights;

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const;
};

struct MixStageConfig {
  static constexpr const char* kName = "MixStageConfig";
  static constexpr const char* kDoc = "How several datasets become one stream.";
  static constexpr const char* kNodes[] = {"mix"};
  static constexpr const char* kFirst[] = {"weights",    "weight_schedule", "weight_schedule_type",
                                           "block_size", "stop_strategy",   "seed",
                                           "unit",       "schedule_unit"};

  std::optional<config::Named<double>> weights;
  std::optional<std::vector<WeightSchedulePoint>> weight_schedule;
  mix::Interpolation weight_schedule_type = mix::Interpolation::kStep;
  std::optional<int64_t> seed;
  mix::ScheduleUnit schedule_unit = mix::ScheduleUnit::kSteps;
  mix::MixOptions options;

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const;
};

struct PackStageConfig {
  static constexpr const char* kName = "PackStageConfig";
  static constexpr const char* kDoc = "How documents are put into rows of one length.";
  static constexpr const char* kFirst[] = {
      "enabled",     "seq_length",          "eos_token_id",   "pad_token_id",          "strategy",
      "num_packers", "include_segment_ids", "shuffle_packed", "shuffle_buffer_factor", "overlong",
      "token_fields"};

  bool enabled = false;
  plan::PackedOptions options;

  static config::FieldList Fields();
};

struct LoadStageConfig {
  static constexpr const char* kName = "LoadStageConfig";
  static constexpr const char* kDoc = "How rows become batches.";
  static constexpr const char* kFirst[] = {"batch_size",
                                           "prefetch_enabled",
                                           "prefetch_workers",
                                           "prefetch_buffer_size",
                                           "shuffle_buffer_size",
                                           "drop_last",
                                           "prefetch_to_device",
                                           "rank",
                                           "world_size",
                                           "lanes",
                                           "epochs",
                                           "steps",
                                           "seed",
                                           "num_threads",
                                           "batch_rampup",
                                           "padding"};

  std::optional<int64_t> seed;
  std::optional<config::Named<config::AnyValue>> padding;
  plan::LoadOptions options;

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const;
};

/// Adds a problem when files of `format` cannot be written with `compression`.
void CheckCodec(const std::string& format, const std::string& compression, const std::string& path,
                config::Problems* problems);

struct SaveStageConfig {
  static constexpr const char* kName = "SaveStageConfig";
  static constexpr const char* kDoc = "How rows are written.";
  static constexpr const char* kNodes[] = {"writer"};

  static constexpr const char* kFirst[] = {
      "enabled",   "output_dir",  "format",      "num_shards",  "compression", "max_shard_size",
      "overwrite", "push_to_hub", "hub_repo_id", "hub_private", "hub_token",   "columns"};

  bool enabled = false;
  std::string output_dir = "./output";
  std::variant<std::string, int64_t> max_shard_size = "500MB";
  std::optional<std::variant<std::string, int64_t>> units;
  std::optional<int64_t> processes;
  bool push_to_hub = false;
  std::optional<std::string> hub_repo_id;
  bool hub_private = false;
  std::optional<std::string> hub_token;
  std::optional<std::vector<std::string>> columns;
  std::optional<config::Named<config::AnyValue>> storage_options;
  sink::WriteOptions options;

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const;
};

struct RayConfig {
  static constexpr const char* kName = "RayConfig";
  static constexpr const char* kDoc = "Work on several machines with Ray.";
  static constexpr const char* kNodes[] = {"ray"};

  bool enabled = false;
  int64_t num_workers = 4;
  std::optional<config::Named<config::AnyValue>> resources_per_worker;
  bool use_gpu = false;
  std::optional<int64_t> object_store_memory;
  std::optional<std::string> address;

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const;
};

struct ObservabilityConfig {
  static constexpr const char* kName = "ObservabilityConfig";
  static constexpr const char* kDoc = "What a running pipeline reports.";
  static constexpr const char* kNodes[] = {"pipeline"};

  bool progress_enabled = true;
  std::optional<std::string> progress_type;
  bool metrics_enabled = true;
  std::string log_level = "INFO";
  int64_t log_interval = 100;

  static config::FieldList Fields();
};

}  // namespace easydata::configs
