#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "easydata/mix/mix_order.h"
#include "easydata/pipeline/dataset_config.h"
#include "easydata/pipeline/load_plan.h"
#include "easydata/pipeline/packed_plan.h"
#include "easydata/sink/stream_writer.h"

/// The options of the pipeline's stages.
namespace easydata::pipeline {

struct SourceStageConfig {
  static constexpr const char* kName = "SourceStageConfig";
  static constexpr const char* kDoc = "How data is read.";

  bool streaming = true;
  std::optional<int64_t> cloud_max_retries;
  std::optional<double> cloud_retry_delay;
  std::optional<config::Named<config::AnyValue>> dask_storage_options;

  static auto Fields() {
    using C = SourceStageConfig;
    return std::tuple{
        config::Field{
            "streaming", &C::streaming,
            "Stream Hub datasets instead of downloading them first; local files are always read "
            "as they are needed."},
        config::Field{"cloud_max_retries", &C::cloud_max_retries,
                      "Attempts at a remote read after the first, in a row, that bring nothing new "
                      "(storage_options: retries); unset: 10, which is more patient than the "
                      "manual's 3."}
            .AtLeast(0)
            .ReadsAs(3),
        config::Field{"cloud_retry_delay", &C::cloud_retry_delay,
                      "Seconds before the first retry of a remote read; the wait doubles with each "
                      "(storage_options: retry_delay); unset: 0.1, to begin with."}
            .AtLeast(0)
            .ReadsAs(1.0),
        config::Field{"dask_storage_options", &C::dask_storage_options,
                      "The storage_options of datasets that have none: credentials and settings "
                      "of object stores and web servers."}
            .Secret(),
    };
  }

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

  std::optional<AnyTokenizer> default_tokenizer;
  std::optional<int64_t> max_length;
  int64_t batch_size = 1000;
  int64_t num_workers = 4;
  bool cache_tokenized = true;
  std::optional<std::vector<std::string>> remove_columns;
  bool truncation = true;

  static auto Fields() {
    using C = TokenizeStageConfig;
    return std::tuple{
        config::Field{"default_tokenizer", &C::default_tokenizer,
                      "Tokenizer of datasets that name none."},
        config::Field{
            "max_length", &C::max_length,
            "Tokens kept of a document, where a dataset's tokenizer does not say. Where nobody "
            "says, a document that a packer splits is not cut, any other one at 2048."}
            .AtLeast(1)
            .ReadsAs(kDefaultMaxLength),
        config::Field{"batch_size", &C::batch_size, "Rows per tokenizing task."}.AtLeast(1),
        config::Field{"num_workers", &C::num_workers, "Threads that tokenize at most."}.AtLeast(1),
        config::Field{"cache_tokenized", &C::cache_tokenized,
                      "Cache tokens where the pipeline has a cache."},
        config::Field{"remove_columns", &C::remove_columns,
                      "Columns left out of the output, though a dataset keeps them."},
        config::Field{
            "truncation", &C::truncation,
            "Cut documents at max_length; without it they keep their length, but those of "
            "datasets whose TokenizerConfig has a max_length of its own."},
    };
  }
};

struct CacheStageConfig {
  static constexpr const char* kName = "CacheStageConfig";
  static constexpr const char* kDoc =
      "Where results are kept; acts where .cache() is in the chain.";

  bool enabled = true;
  std::string cache_type = "hierarchical";
  std::string cache_dir = ".cache/easydel_pipeline";
  int64_t memory_cache_size = 100;
  int64_t disk_cache_expiry = 86400;
  std::string compression = "none";
  std::string hash_fn = "combined";

  static auto Fields() {
    using C = CacheStageConfig;
    return std::tuple{
        config::Field{"enabled", &C::enabled, "Use the cache."},
        config::Field{"cache_type", &C::cache_type, "Layers of the cache."}.OneOf(
            {"memory", "disk", "hierarchical"}),
        config::Field{"cache_dir", &C::cache_dir, "Folder of the disk layer."},
        config::Field{"memory_cache_size", &C::memory_cache_size, "Entries kept in memory."}
            .AtLeast(0),
        config::Field{"disk_cache_expiry", &C::disk_cache_expiry,
                      "Seconds after which an entry is made anew."}
            .AtLeast(0),
        config::Field{"compression", &C::compression, "Codec of entries on disk."}.OneOf(
            {"none", "gzip", "lz4", "zstd"}),
        config::Field{"hash_fn", &C::hash_fn, "What an entry is known by."}.OneOf(
            {"content", "path", "combined"}),
    };
  }
};

struct WeightSchedulePoint {
  static constexpr const char* kName = "WeightSchedulePoint";
  static constexpr const char* kDoc = "The weights of a mixture from one step on.";

  int64_t step = 0;
  config::Named<double> weights;

  static auto Fields() {
    using C = WeightSchedulePoint;
    return std::tuple{
        config::Field{"step", &C::step,
                      "Step from which the weights hold; see MixStageConfig.schedule_unit."}
            .Required()
            .AtLeast(0),
        config::Field{"weights", &C::weights, "Share of each dataset by name; they sum to 1."}
            .Required(),
    };
  }

  void Check(const std::string& path, config::Problems* problems) const;
};

struct MixStageConfig {
  static constexpr const char* kName = "MixStageConfig";
  static constexpr const char* kDoc = "How several datasets become one stream.";
  static constexpr const char* kFirst[] = {"weights",    "weight_schedule", "weight_schedule_type",
                                           "block_size", "stop_strategy",   "seed",
                                           "unit",       "schedule_unit"};

  std::optional<config::Named<double>> weights;
  std::optional<std::vector<WeightSchedulePoint>> weight_schedule;
  mix::Interpolation weight_schedule_type = mix::Interpolation::kStep;
  std::optional<int64_t> seed;
  mix::ScheduleUnit schedule_unit = mix::ScheduleUnit::kSteps;
  mix::MixOptions options;

  static auto Fields() {
    using C = MixStageConfig;
    return std::tuple_cat(
        std::tuple{
            config::Field{"weights", &C::weights,
                          "Share of each dataset by name; they sum to 1. Unset: equal shares."},
            config::Field{"weight_schedule", &C::weight_schedule,
                          "Weights that change over time; it goes before weights."},
            config::Field{
                "weight_schedule_type", &C::weight_schedule_type,
                "Between two points: stay at the left one (step), or go from one to the other "
                "(linear, cosine)."},
            config::Field{
                "seed", &C::seed,
                "Seed of the order within blocks; unset: the pipeline's. Without effect where "
                "order is \"grain\"."}
                .AtLeast(0),
            config::Field{"schedule_unit", &C::schedule_unit,
                          "What the steps of weight_schedule count."}
                .Differs("a pipeline has a loader whose steps a schedule means; a source alone has "
                         "none"),
        },
        config::FieldsOf(&C::options, mix::MixOptions::Fields()));
  }

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
  std::optional<int32_t> eos_token_id;
  PackedOptions options;

  static auto Fields() {
    using C = PackStageConfig;
    return std::tuple_cat(
        std::tuple{
            config::Field{
                "enabled", &C::enabled,
                "Pack where a pipeline is run from its config; calling .pack() means it."},
            config::Field{
                "eos_token_id", &C::eos_token_id,
                "Token that closes every document. Unset: the tokenizer's; 2 where the data "
                "comes tokenized and no tokenizer is named."}
                .AtLeast(0)
                .AtMost(2147483647)
                .Differs("a pipeline can ask the tokenizer"),
        },
        config::FieldsOf(&C::options,
                         std::tuple{config::Field{"shuffle_packed", &PackedOptions::shuffle,
                                                  PackedOptions::kShuffleText}}),
        config::FieldsOf(&C::options, PackedOptions::StageFields()));
  }
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
  LoadOptions options;

  static auto Fields() {
    using C = LoadStageConfig;
    return std::tuple_cat(
        std::tuple{
            config::Field{"seed", &C::seed,
                          "Seed of shuffle_buffer_size and bucket_batches; unset: the pipeline's."}
                .AtLeast(0),
            config::Field{
                "padding", &C::padding,
                "{column: PadSpec}: how a column of lists of several lengths is filled; unset: "
                "from the tokenizer."},
        },
        config::FieldsOf(&C::options, LoadOptions::Fields()));
  }

  void Check(const std::string& path, config::Problems* problems) const;
};

/// Adds a problem when files of `format` cannot be written with `compression`.
void CheckCodec(const std::string& format, const std::string& compression, const std::string& path,
                config::Problems* problems);

struct SaveStageConfig {
  static constexpr const char* kName = "SaveStageConfig";
  static constexpr const char* kDoc = "How rows are written.";

  static constexpr const char* kFirst[] = {
      "enabled",   "output_dir",  "format",      "num_shards",  "compression", "max_shard_size",
      "overwrite", "push_to_hub", "hub_repo_id", "hub_private", "hub_token",   "columns"};

  bool enabled = false;
  std::string output_dir = "./output";
  std::variant<std::string, int64_t> max_shard_size = "500MB";
  bool push_to_hub = false;
  std::optional<std::string> hub_repo_id;
  bool hub_private = false;
  std::optional<std::string> hub_token;
  std::optional<std::vector<std::string>> columns;
  std::optional<config::Named<config::AnyValue>> storage_options;
  sink::WriteOptions options;

  static auto Fields() {
    using C = SaveStageConfig;
    return std::tuple_cat(
        std::tuple{
            config::Field{
                "enabled", &C::enabled,
                "Save where a pipeline is run from its config; calling .save() means it."},
            config::Field{"output_dir", &C::output_dir,
                          "Folder of the output, or \"s3://bucket/prefix\"; with several datasets, "
                          "of a folder "
                          "for each."},
            config::Field{"max_shard_size", &C::max_shard_size,
                          "File size at which a shard is closed: bytes, or \"500MB\" (of 1024 KB)."}
                .AtLeast(1)
                .Differs("the same size, as people write it"),
            config::Field{"push_to_hub", &C::push_to_hub, "Upload the output to the Hub."}
                .OnlyDefault("the Hub comes with a later version"),
            config::Field{"hub_repo_id", &C::hub_repo_id, "Repository for push_to_hub."},
            config::Field{"hub_private", &C::hub_private,
                          "Make the repository of push_to_hub a private one."},
            config::Field{"hub_token", &C::hub_token, "Token for push_to_hub."}.Secret(),
            config::Field{
                "columns", &C::columns,
                "Columns to write; unset: all of them, for rows without a schema those of the "
                "first "
                "1,000."},
            config::Field{"storage_options", &C::storage_options,
                          "Who writes to an object store, and how patiently "
                          "(docs/guide/stores.md); unset: the credentials that the platform has."}
                .Secret(),
        },
        config::FieldsOf(&C::options, sink::WriteOptions::Fields()));
  }

  void Check(const std::string& path, config::Problems* problems) const;
};

struct RayConfig {
  static constexpr const char* kName = "RayConfig";
  static constexpr const char* kDoc = "Work on several machines with Ray.";

  bool enabled = false;
  int64_t num_workers = 4;
  std::optional<config::Named<config::AnyValue>> resources_per_worker;
  bool use_gpu = false;
  std::optional<int64_t> object_store_memory;

  static auto Fields() {
    using C = RayConfig;
    return std::tuple{
        config::Field{"enabled", &C::enabled, "Use Ray."}.OnlyDefault(
            "Ray comes with a later version; one machine needs none"),
        config::Field{"num_workers", &C::num_workers, "Ray workers."}.AtLeast(1),
        config::Field{"resources_per_worker", &C::resources_per_worker,
                      "Ray resources of a worker."},
        config::Field{"use_gpu", &C::use_gpu, "Give workers a GPU."},
        config::Field{"object_store_memory", &C::object_store_memory,
                      "Bytes of Ray's object store."}
            .AtLeast(1),
    };
  }
};

struct ObservabilityConfig {
  static constexpr const char* kName = "ObservabilityConfig";
  static constexpr const char* kDoc = "What a running pipeline tells.";

  bool progress_enabled = true;
  std::string progress_type = "tqdm";
  bool metrics_enabled = true;
  std::string log_level = "INFO";
  int64_t log_interval = 100;

  static auto Fields() {
    using C = ObservabilityConfig;
    return std::tuple{
        config::Field{"progress_enabled", &C::progress_enabled,
                      "Show progress while saving, when standard error is a terminal."},
        config::Field{"progress_type", &C::progress_type, "What shows it."}.OneOf(
            {"tqdm", "rich", "none"}),
        config::Field{"metrics_enabled", &C::metrics_enabled,
                      "Keep metrics of the stages in the context."},
        config::Field{"log_level", &C::log_level,
                      "Least level of what the logger \"easydata\" says."}
            .OneOf({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}),
        config::Field{"log_interval", &C::log_interval,
                      "Log progress each time this many batches of rows are saved (level DEBUG)."}
            .AtLeast(1),
    };
  }
};

}  // namespace easydata::pipeline
