#include "easydata/configs/stage_configs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace easydata::configs {
namespace {

void CheckWeights(const config::Named<double>& weights, const std::string& path,
                  config::Problems* problems) {
  double sum = 0;
  for (const auto& [name, weight] : weights.values) {
    if (!(weight >= 0)) {
      problems->push_back({config::Problem::Kind::kValue, path + "[\"" + name + "\"]",
                           "must be at least 0, not " + config::Shown(config::Json(weight))});
    }
    sum += weight;
  }
  if (weights.values.empty()) {
    problems->push_back({config::Problem::Kind::kValue, path, "must name at least one dataset"});
  } else if (std::abs(sum - 1) > 1e-6) {
    problems->push_back({config::Problem::Kind::kValue, path,
                         "must sum to 1; they sum to " + config::Shown(config::Json(sum))});
  }
}

/// Adds a problem for each option without a meaning in Grain's order of a mix.
void CheckGrainMix(const MixStageConfig& mix, const std::string& path, config::Problems* problems) {
  if (mix.options.unit == mix::MixUnit::kTokens) {
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, "order"),
         "must be \"blocks\" where unit is \"tokens\": Grain's mix is of examples"});
  }
  if (mix.weight_schedule) {
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, "order"),
         "must be \"blocks\" where there is a weight_schedule: weights of Grain's mix are fixed"});
  }
  if (!mix.weights) return;
  for (const auto& [name, weight] : mix.weights->values) {
    if (weight != 0) continue;
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, "weights") + "[\"" + name + "\"]",
         "must be above 0 where order is \"grain\"; leave the dataset out instead"});
  }
}

/// Whether a text is "org/name", as repositories of the Hub are called.
bool IsRepository(const std::string& text) {
  const size_t slash = text.find('/');
  auto is_name = [](std::string_view name) {
    return !name.empty() && name.size() <= 96 && name.front() != '-' && name.front() != '.' &&
           name.back() != '-' && name.back() != '.' && name.find("--") == std::string_view::npos &&
           name.find("..") == std::string_view::npos && std::ranges::all_of(name, [](char letter) {
             return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                    (letter >= '0' && letter <= '9') || letter == '-' || letter == '_' ||
                    letter == '.';
           });
  };
  return slash != std::string::npos && is_name(std::string_view(text).substr(0, slash)) &&
         is_name(std::string_view(text).substr(slash + 1)) && !text.ends_with(".git");
}

/// Adds a problem for what keeps an output from the Hub, before anything is written.
void CheckPush(const SaveStageConfig& save, const std::string& path, config::Problems* problems) {
  const std::string at = config::JoinPath(path, "hub_repo_id");
  if (!save.hub_repo_id) {
    problems->push_back({config::Problem::Kind::kValue, at,
                         "must name the repository, such as \"org/name\", where push_to_hub is "
                         "set"});
  } else if (!IsRepository(*save.hub_repo_id)) {
    problems->push_back({config::Problem::Kind::kValue, at,
                         "must be \"org/name\", as the Hub has it, not " +
                             config::Shown(config::Json(*save.hub_repo_id))});
  }
  if (save.options.format == "array_record") {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, "format"),
                         "must be \"parquet\", \"arrow\" or \"jsonl\" where push_to_hub is set: "
                         "`datasets` does not read ArrayRecord"});
  }
}

}  // namespace

config::FieldList SourceStageConfig::Fields() {
  using C = SourceStageConfig;
  return {
      config::Field{
          "streaming", &C::streaming,
          "Stream Hub datasets instead of downloading them first; local files are always read "
          "as they are needed."}
          .ForCompatibility("local files are always read as they are needed"),
      config::Field{"cloud_max_retries", &C::cloud_max_retries,
                    "Attempts at a remote read after the first, in a row, that bring nothing new "
                    "(storage_options: retries); unset: 10, which is more patient than the "
                    "manual's 3."}
          .ActsAt({"source.remote"})
          .AtLeast(0)
          .ReadsAs(3),
      config::Field{"cloud_retry_delay", &C::cloud_retry_delay,
                    "Seconds before the first retry of a remote read; the wait doubles with each "
                    "(storage_options: retry_delay); unset: 0.1, to begin with."}
          .ActsAt({"source.remote"})
          .AtLeast(0)
          .ReadsAs(1.0),
      config::Field{"dask_storage_options", &C::dask_storage_options,
                    "The storage_options of datasets that have none: credentials and settings "
                    "of object stores and web servers."}
          .ActsAt({"source.remote"})
          .Secret(),
  };
}

config::FieldList TokenizeStageConfig::Fields() {
  using C = TokenizeStageConfig;
  const char* bound = "it is a bound that does not change the tokens";
  return {
      config::Field{"default_tokenizer", &C::default_tokenizer,
                    "Tokenizer of datasets that name none."}
          .ActsAt({"tokenize", "examples"})
          .OptionsOf(TokenizerConfig::kName)
          .SupersededBy("DatasetConfig.tokenizer"),
      config::Field{
          "max_length", &C::max_length,
          "Tokens kept of a document, where a dataset's tokenizer does not say. Where nobody "
          "says, a document that a packer splits is not cut, any other one at 2048."}
          .SupersededBy("TokenizerConfig.max_length")
          .Differs("a source by itself takes it from its TokenizerConfig")
          .AtLeast(1)
          .ReadsAs(kDefaultMaxLength),
      config::Field{"batch_size", &C::batch_size, "Rows per tokenizing task."}
          .Differs("the manual's; a source alone has no such bound")
          .ForCompatibility(bound)
          .AtLeast(1),
      config::Field{"num_workers", &C::num_workers, "Threads that tokenize at most."}
          .Differs("the manual's; a source alone has no such bound")
          .ForCompatibility(bound)
          .AtLeast(1),
      config::Field{"cache_tokenized", &C::cache_tokenized,
                    "Keep tokens where the pipeline or the dataset has a cache; false: they are "
                    "made anew."}
          .ActsAt({"cache"}),
      config::Field{"remove_columns", &C::remove_columns,
                    "Columns left out of the output, though a dataset keeps them."}
          .ActsAt({"pipeline"}),
      config::Field{"truncation", &C::truncation,
                    "Cut documents at max_length; without it they keep their length, but those of "
                    "datasets whose TokenizerConfig has a max_length of its own."},
  };
}

config::FieldList CacheStageConfig::Fields() {
  using C = CacheStageConfig;
  config::FieldList fields = {
      config::Field{"enabled", &C::enabled, "Keep rows; false: nothing is kept or looked up."},
      config::Field{"cache_type", &C::cache_type,
                    "Where blocks of rows are kept: in the memory of this process alone, in files "
                    "of cache_dir (disk), or in files with those used last in memory, too "
                    "(hierarchical)."}
          .OneOf({"memory", "disk", "hierarchical"}),
      config::Field{"cache_dir", &C::cache_dir,
                    "Folder of the files, here or on an object store (\"s3://bucket/prefix\"); "
                    "several jobs and machines may share it."}
          .SupersededBy("DatasetConfig.cache_path")
          .SupersededBy("cache_type", {"memory"}),
      config::Field{"memory_cache_size", &C::memory_cache_size,
                    "Blocks of rows kept in memory, those used last; one is made of about 1 MB of "
                    "text."}
          .SupersededBy("cache_type", {"disk"})
          .AtLeast(0),
      config::Field{"disk_cache_expiry", &C::disk_cache_expiry,
                    "Seconds since its last use after which a file of a folder here is removed, "
                    "unless a job that runs uses it; None: never; 0: as soon as no job uses it. "
                    "Nothing is removed from an object store."}
          .SupersededBy("DatasetConfig.cache_path")
          .SupersededBy("cache_type", {"memory"})
          .AtLeast(0),
      config::Field{"compression", &C::compression,
                    "Codec of files that are written; files of any are read."}
          .SupersededBy("cache_type", {"memory"})
          .OneOf({"none", "gzip", "lz4", "zstd"}),
      config::Field{"hash_fn", &C::hash_fn,
                    "What a data file is known by: its size, its time of change or ETag, and some "
                    "of its bytes (combined); or its size and a hash of all of it, for which it is "
                    "read once more (content), as identity=\"content\" of its dataset says. Its "
                    "name never counts, so that folders can be moved; \"path\" means combined."}
          .Taken("path", "a name alone does not tell what is in a file: it means \"combined\"")
          .OneOf({"content", "path", "combined"}),
      config::Field{"max_bytes", &C::max_bytes,
                    "Bytes of all files of the folder, or \"100GB\" (of 1024 MB): beyond it those "
                    "go that were used longest ago; unset: a tenth of what is free on its disk, at "
                    "most 100 GB."}
          .SupersededBy("cache_type", {"memory"})
          .AtLeast(1),
  };
  for (size_t i = 1; i < fields.size(); ++i) {
    auto& superseded_by = fields[i].rules.acting.superseded_by;
    superseded_by.insert(superseded_by.begin(), config::Neighbour{"enabled", {false}});
  }
  return fields;
}

config::FieldList WeightSchedulePoint::Fields() {
  using C = WeightSchedulePoint;
  return {
      config::Field{"step", &C::step,
                    "Step from which the weights hold; see MixStageConfig.schedule_unit."}
          .Required()
          .AtLeast(0),
      config::Field{"weights", &C::weights, "Share of each dataset by name; they sum to 1."}
          .Required(),
  };
}

config::FieldList MixStageConfig::Fields() {
  using C = MixStageConfig;
  const config::Json blocks = NameOf(mix::NamesOf(mix::MixOrderKind{}), mix::MixOrderKind::kBlocks);
  return config::Joined(
      {{
           config::Field{"weights", &C::weights,
                         "Share of each dataset by name; they sum to 1. Unset: equal shares."}
               .SupersededBy("weight_schedule"),
           config::Field{"weight_schedule", &C::weight_schedule,
                         "Weights that change over time; takes precedence over weights."},
           config::Field{
               "weight_schedule_type", &C::weight_schedule_type,
               "Between two points: stay at the left one (step), or go from one to the other "
               "(linear, cosine)."}
               .Beside("weight_schedule"),
           config::Field{
               "seed", &C::seed,
               "Seed of the order within blocks; unset: the pipeline's. Without effect where "
               "order is \"grain\"."}
               .Beside("order", {blocks})
               .AtLeast(0),
           config::Field{"schedule_unit", &C::schedule_unit,
                         "What the steps of weight_schedule count."}
               .Beside("weight_schedule")
               .Differs("a pipeline has a loader whose steps a schedule means; a source alone has "
                        "none"),
       },
       config::FieldsOf(&C::options)});
}

config::FieldList PackStageConfig::Fields() {
  using C = PackStageConfig;
  return config::Joined(
      {{
           config::Field{"enabled", &C::enabled,
                         "Pack where a pipeline is run from its config; calling .pack() means it."}
               .ActsAt({"pipeline"}),
       },
       config::FieldsOf(&C::options, {config::Field{"shuffle_packed", &plan::PackedOptions::shuffle,
                                                    plan::PackedOptions::kShuffleText}}),
       config::FieldsOf(&C::options, plan::PackedOptions::StageFields("shuffle_packed"))});
}

config::FieldList LoadStageConfig::Fields() {
  using C = LoadStageConfig;
  return config::Joined(
      {{
           config::Field{"seed", &C::seed,
                         "Seed of shuffle_buffer_size and bucket_batches; unset: the pipeline's."}
               .ActsAt({"loader.shuffle", "loader.buckets"})
               .AtLeast(0),
           config::Field{
               "padding", &C::padding,
               "{column: PadSpec}: how a column of lists of several lengths is filled; unset: "
               "from the tokenizer."}
               .ActsAt({"loader"}),
       },
       // save() takes it for the steps of a schedule where somebody set it.
       config::Changed(config::FieldsOf(&C::options), "batch_size",
                       [](const config::Field& field) { return field.ReadsAs(8); })});
}

config::FieldList SaveStageConfig::Fields() {
  using C = SaveStageConfig;
  // What a dataset says of its own output goes before.
  config::FieldList options = config::FieldsOf(&C::options);
  options = config::Changed(std::move(options), "format", [](const config::Field& field) {
    return field.SupersededBy("DatasetConfig.save_format");
  });
  options = config::Changed(std::move(options), "num_shards", [](const config::Field& field) {
    return field.SupersededBy("DatasetConfig.num_shards");
  });
  options = config::Changed(std::move(options), "shard_column", [](const config::Field& field) {
    return field.SupersededBy("DatasetConfig.shard_column");
  });
  return config::Joined(
      {{
           config::Field{"enabled", &C::enabled,
                         "Save where a pipeline is run from its config; calling .save() means it."}
               .ActsAt({"pipeline"}),
           config::Field{"output_dir", &C::output_dir,
                         "Folder of the output, or \"s3://bucket/prefix\"; with several datasets, "
                         "of a folder "
                         "for each."}
               .SupersededBy("DatasetConfig.save_path"),
           config::Field{"max_shard_size", &C::max_shard_size,
                         "File size at which a shard is closed: bytes, or \"500MB\" (of 1024 KB)."}
               .SupersededBy("num_shards")
               .SupersededBy("max_shard_rows")
               .AtLeast(1)
               .Differs("the same size, as people write it"),
           config::Field{"units", &C::units,
                         "Size of the files that are read for one shard, in place of "
                         "max_shard_size: bytes, or \"512MB\" (of 1024 KB); 256 MB to 1 GB are "
                         "usual. Smaller files are put together, larger ones cut between blocks. "
                         "Each such unit is made by itself, packed rows too, in any process; see "
                         "docs/guide/many_machines.md."}
               .AtLeast(1)
               .Differs("the same size, as people write it"),
           config::Field{"processes", &C::processes,
                         "Processes of this machine that write units of the output, each with its "
                         "share of the threads; unset: this process writes it "
                         "(docs/guide/many_machines.md)."}
               .AtLeast(1)
               .AtMost(1024),
           config::Field{"push_to_hub", &C::push_to_hub,
                         "Push the output to a dataset repository of the Hub, too "
                         "(docs/guide/hub.md)."},
           config::Field{"hub_repo_id", &C::hub_repo_id,
                         "Repository for push_to_hub: \"org/name\"."}
               .SupersededBy("push_to_hub", {false}),
           config::Field{"hub_private", &C::hub_private,
                         "Make the repository of push_to_hub a private one; one that is there "
                         "already must be private."}
               .SupersededBy("push_to_hub", {false}),
           config::Field{"hub_token", &C::hub_token,
                         "Token for push_to_hub, one that may write; unset: HF_TOKEN, or the one "
                         "that `hf auth login` keeps."}
               .SupersededBy("push_to_hub", {false})
               .Secret(),
           config::Field{
               "columns", &C::columns,
               "Columns to write; unset: all of them, for rows without a schema those of the "
               "first "
               "1,000."},
           config::Field{"storage_options", &C::storage_options,
                         "Credentials for an object store, and how often to retry "
                         "(docs/guide/stores.md); unset: the credentials that the platform has."}
               .Secret(),
       },
       std::move(options)});
}

config::FieldList RayConfig::Fields() {
  using C = RayConfig;
  return {
      config::Field{"enabled", &C::enabled,
                    "Write outputs, and fill the cache before loading, by tasks of Ray "
                    "(docs/guide/many_machines.md)."},
      config::Field{"num_workers", &C::num_workers,
                    "Workers of Ray at once, at most; fewer where the cluster has no room."}
          .SupersededBy("enabled", {false})
          .AtLeast(1),
      config::Field{"resources_per_worker", &C::resources_per_worker,
                    "What of the cluster a worker takes, such as {\"CPU\": 2}: it has a thread for "
                    "each whole CPU. GPU needs use_gpu; other names are resources that the "
                    "cluster's nodes were started with. Unset: {\"CPU\": 1}."}
          .SupersededBy("enabled", {false}),
      config::Field{"use_gpu", &C::use_gpu,
                    "Give workers GPUs: as many as resources_per_worker says, else one."}
          .SupersededBy("enabled", {false}),
      config::Field{"object_store_memory", &C::object_store_memory,
                    "Bytes of Ray's object store, where a cluster is started here; one that runs "
                    "already has its own, and the option is refused."}
          .SupersededBy("enabled", {false})
          .AtLeast(1),
      config::Field{"address", &C::address,
                    "The cluster to work on (\"host:6379\", \"auto\", \"local\": one that is "
                    "started here and ends with the job); unset: the one that this process is "
                    "connected to, that RAY_ADDRESS names or that runs on this machine, else one "
                    "that is started here."}
          .SupersededBy("enabled", {false}),
  };
}

config::FieldList ObservabilityConfig::Fields() {
  using C = ObservabilityConfig;
  return {
      config::Field{
          "progress_enabled", &C::progress_enabled,
          "Show progress while saving: a bar on a terminal and in a notebook, elsewhere a "
          "line now and then."}
          .ActsAt({"writer"}),
      config::Field{
          "progress_type", &C::progress_type,
          "What shows it; unset: tqdm (rich where it is not installed), and on the command "
          "line rich."}
          .ReadsAs("tqdm")
          .ActsAt({"writer"})
          .SupersededBy("progress_enabled", {false})
          .OneOf({"tqdm", "rich", "none"}),
      config::Field{"metrics_enabled", &C::metrics_enabled,
                    "Keep metrics of the stages in the context."},
      config::Field{"log_level", &C::log_level, "Least level of what the logger \"easydata\" says."}
          .OneOf({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}),
      config::Field{"log_interval", &C::log_interval,
                    "Log progress each time this many batches of rows are saved (level DEBUG)."}
          .ActsAt({"writer"})
          .AtLeast(1),
  };
}

void WeightSchedulePoint::Check(const std::string& path, config::Problems* problems) const {
  CheckWeights(weights, config::JoinPath(path, "weights"), problems);
}

void MixStageConfig::Check(const std::string& path, config::Problems* problems) const {
  if (weights) CheckWeights(*weights, config::JoinPath(path, "weights"), problems);
  if (options.order == mix::MixOrderKind::kGrain) CheckGrainMix(*this, path, problems);
  if (!weight_schedule) return;
  const std::string at = config::JoinPath(path, "weight_schedule");
  if (weight_schedule->empty())
    problems->push_back({config::Problem::Kind::kValue, at, "must have at least one point"});
  for (size_t i = 1; i < weight_schedule->size(); ++i) {
    const auto& first = (*weight_schedule)[0].weights.values;
    const auto& other = (*weight_schedule)[i].weights.values;
    auto has = [](const auto& values, const std::string& name) {
      for (const auto& [key, value] : values) {
        if (key == name) return true;
      }
      return false;
    };
    for (const auto& [name, weight] : first) {
      if (!has(other, name)) {
        problems->push_back(
            {config::Problem::Kind::kValue, at + "[" + std::to_string(i) + "].weights",
             "must name the same datasets as the first point; \"" + name + "\" is missing"});
      }
    }
    for (const auto& [name, weight] : other) {
      if (!has(first, name)) {
        problems->push_back(
            {config::Problem::Kind::kValue, at + "[" + std::to_string(i) + "].weights",
             "must name the same datasets as the first point, which has no \"" + name + "\""});
      }
    }
  }
}

void CacheStageConfig::Check(const std::string& path, config::Problems* problems) const {
  CheckWrittenLocation(cache_dir, config::JoinPath(path, "cache_dir"), problems);
  if (max_bytes && cache_dir.find("://") != std::string::npos) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, "max_bytes"),
                         "is for a folder of this machine: nothing is removed from an object "
                         "store; leave it out, and give the bucket a rule that removes old "
                         "objects"});
  }
}

void LoadStageConfig::Check(const std::string& path, config::Problems* problems) const {
  options.Check(path, problems);
}

void CheckCodec(const std::string& format, const std::string& compression, const std::string& path,
                config::Problems* problems) {
  const auto& known = sink::CompressionsOf(format);
  if (compression.empty() || std::find(known.begin(), known.end(), compression) != known.end()) {
    return;
  }
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  problems->push_back(
      {config::Problem::Kind::kValue, path,
       "must be one of " + names + " for " + format + " files, not \"" + compression + "\""});
}

void RayConfig::Check(const std::string& path, config::Problems* problems) const {
  const auto add = [&](const std::string& option, std::string said) {
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, option), std::move(said)});
  };
  if (address && address->empty()) add("address", "must name a cluster, not \"\"");
  if (!resources_per_worker) return;
  for (const auto& [name, value] : resources_per_worker->values) {
    const std::string option = "resources_per_worker." + name;
    const double amount = value.value.is_number() ? value.value.get<double>() : -1;
    if (amount < 0 || (amount > 1 && amount != std::floor(amount))) {
      add(option, "must be a whole number or a fraction of 1, not " + config::Shown(value.value));
    } else if (name == "CPU" && amount == 0) {
      add(option, "must be above 0: a worker needs a CPU");
    } else if (name == "GPU" && amount > 0 && !use_gpu) {
      add(option, "needs use_gpu = true, which says that workers are to have GPUs");
    }
  }
}

void SaveStageConfig::Check(const std::string& path, config::Problems* problems) const {
  CheckWrittenLocation(output_dir, config::JoinPath(path, "output_dir"), problems);
  if (storage_options) {
    CheckStorageOptions(*storage_options, config::JoinPath(path, "storage_options"), problems);
  }
  CheckCodec(options.format, options.compression, config::JoinPath(path, "compression"), problems);
  if (columns && columns->empty()) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, "columns"),
                         "must name one column at least; unset: all of them"});
  }
  options.Check(path, problems);
  if (push_to_hub) CheckPush(*this, path, problems);
}

}  // namespace easydata::configs
