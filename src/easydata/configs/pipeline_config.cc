#include "easydata/configs/pipeline_config.h"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "easydata/base/nearest_name.h"

namespace easydata::configs {
namespace {

std::vector<std::string> KeysOf(const config::Named<double>& weights) {
  std::vector<std::string> keys;
  for (const auto& [name, weight] : weights.values) keys.push_back(name);
  return keys;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Weights must name each dataset of the pipeline, and nothing else.
void CheckNames(const config::Named<double>& weights, const std::vector<std::string>& datasets,
                const std::string& path, config::Problems* problems) {
  const std::vector<std::string> keys = KeysOf(weights);
  for (const std::string& key : keys) {
    if (Contains(datasets, key)) continue;
    problems->push_back({config::Problem::Kind::kValue, path,
                         "names no dataset with \"" + key + "\"" + Suggestion(key, datasets)});
  }
  for (const std::string& dataset : datasets) {
    if (Contains(keys, dataset)) continue;
    problems->push_back(
        {config::Problem::Kind::kValue, path,
         "has no weight for the dataset \"" + dataset + "\"; give it one (0 leaves it out)"});
  }
}

/// The max_length that was set for a dataset, unless its documents are not cut.
std::optional<int64_t> SetMaxLength(const PipelineConfig& config, const DatasetConfig& dataset) {
  std::optional<int64_t> length = config.tokenize.max_length;
  bool truncation = config.tokenize.truncation;
  for (const auto* named :
       {&dataset.tokenizer, &config.tokenize.default_tokenizer, &config.default_tokenizer}) {
    if (!named->has_value()) continue;
    if (const auto* own = std::get_if<TokenizerConfig>(&**named)) {
      truncation = own->truncation && (truncation || own->max_length.has_value());
      if (own->max_length) length = own->max_length;
    }
    break;
  }
  if (dataset.tokenizer_kwargs) {
    for (const auto& [key, value] : dataset.tokenizer_kwargs->values) {
      if (key == "max_length" && value.value.is_number_integer())
        length = value.value.get<int64_t>();
      if (key == "truncation" && value.value.is_boolean()) truncation = value.value.get<bool>();
    }
  }
  return truncation ? length : std::nullopt;
}

/// Adds a problem for what has no meaning beside units, and for workers of two kinds.
void CheckUnits(const PipelineConfig& config, const std::string& path, config::Problems* problems) {
  const auto refuse = [&](const std::string& name, const std::string& text) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, name), text});
  };
  const SaveStageConfig& save = config.save;
  if (config.ray.enabled && save.processes) {
    refuse("save.processes",
           "is for the cores of this machine, and ray.enabled is set: the workers are Ray's; give "
           "one of the two");
  }
  const char* by = save.units           ? "save.units"
                   : save.processes     ? "save.processes"
                   : config.ray.enabled ? "ray.enabled"
                                        : nullptr;
  if (by == nullptr) return;
  const auto check = [&](const std::string& option, bool is_given) {
    if (!is_given) return;
    refuse(option, std::string("has no meaning beside ") + by +
                       ": each unit of the input is one shard, of the size that save.units says; "
                       "give one of the two");
  };
  check("save.max_shard_size", save.max_shard_size != SaveStageConfig().max_shard_size);
  check("save.num_shards", save.options.num_shards.has_value());
  check("save.max_shard_rows", save.options.max_shard_rows.has_value());
  check("save.shard_column", !save.options.shard_column.empty());
  for (size_t i = 0; i < config.datasets.size(); ++i) {
    const std::string dataset = "datasets[" + std::to_string(i) + "].";
    check(dataset + "num_shards", config.datasets[i].num_shards.has_value());
    check(dataset + "shard_column", config.datasets[i].shard_column.has_value());
  }
}

/// Advises where documents are cut that the packer would have split.
void AdviseOnLengths(const PipelineConfig& config, const std::vector<std::string>& names,
                     const std::string& path, config::Problems* problems) {
  const int64_t seq_length = config.pack.options.pack.seq_length;
  if (!config.pack.enabled && seq_length == pack::PackOptions().seq_length) return;
  for (size_t i = 0; i < config.datasets.size(); ++i) {
    const auto length = SetMaxLength(config, config.datasets[i]);
    if (!length || *length >= seq_length) continue;
    problems->push_back(
        {config::Problem::Kind::kAdvice, config::JoinPath(path, "tokenize.max_length"),
         "cuts documents of \"" + names[i] +
             "\" before they are packed: it is less than pack.seq_length; leave it unset, and "
             "they are split instead; they are " +
             std::to_string(*length) + " and " + std::to_string(seq_length)});
  }
}

}  // namespace

config::FieldList PipelineConfig::Fields() {
  using C = PipelineConfig;
  return {
      config::Field{"datasets", &C::datasets, "The datasets, at least one."}
          .ActsAt({"source"})
          .Required(),
      config::Field{
          "default_tokenizer", &C::default_tokenizer,
          "Tokenizer of datasets that name none, where the tokenize stage names none either."}
          .ActsAt({"tokenize", "examples"})
          .OptionsOf(TokenizerConfig::kName)
          .SupersededBy("TokenizeStageConfig.default_tokenizer")
          .SupersededBy("DatasetConfig.tokenizer"),
      config::Field{
          "streaming", &C::streaming,
          "Stream Hub datasets instead of downloading them first; local files are always read "
          "as they are needed."}
          .ActsAt({"source"})
          .ForCompatibility("local files are always read as they are needed"),
      config::Field{"seed", &C::seed, "Seed of everything that is shuffled or mixed; unset: 0."}
          .ActsAt({"source", "mix", "pack", "pack.shuffle", "loader.shuffle", "loader.buckets"})
          .AtLeast(0),
      config::Field{"source", &C::source, "Options of reading."},
      config::Field{"tokenize", &C::tokenize, "Options of tokenizing."},
      config::Field{"cache", &C::cache,
                    "Options of the cache; where it is given, even with its defaults alone, tokens "
                    "are kept as they are made, and found in later runs."}
          .ActsAt({"cache"})
          .SupersededBy("CacheStageConfig.enabled", {false})
          .SupersededBy("TokenizeStageConfig.cache_tokenized", {false}),
      config::Field{"mix", &C::mix, "Options of mixing."},
      config::Field{"pack", &C::pack, "Options of packing."},
      config::Field{"load", &C::load, "Options of loading."},
      config::Field{"save", &C::save, "Options of saving."},
      config::Field{"ray", &C::ray, "Options of Ray."},
      config::Field{"observability", &C::observability, "Progress, metrics and log."},
  };
}

std::vector<std::string> PipelineConfig::dataset_names() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < datasets.size(); ++i) {
    names.push_back(datasets[i].name.value_or("dataset_" + std::to_string(i)));
  }
  return names;
}

void PipelineConfig::Check(const std::string& path, config::Problems* problems) const {
  if (datasets.empty()) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, "datasets"),
                         "must name at least one dataset"});
    return;
  }
  const std::vector<std::string> names = dataset_names();
  std::map<std::string, size_t> first;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string at = config::JoinPath(path, "datasets[" + std::to_string(i) + "]");
    auto [found, is_new] = first.emplace(names[i], i);
    if (!is_new) {
      problems->push_back({config::Problem::Kind::kValue, at + ".name",
                           "= \"" + names[i] + "\" is a duplicate of datasets[" +
                               std::to_string(found->second) + "]; names are unique"});
    }
    if (datasets[i].save_format) {
      CheckCodec(*datasets[i].save_format, save.options.compression,
                 at + ".save_format with save.compression", problems);
    }
  }
  for (size_t i = 0; i < datasets.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!datasets[i].save_path || datasets[i].save_path != datasets[j].save_path) continue;
      problems->push_back({config::Problem::Kind::kValue,
                           config::JoinPath(path, "datasets[" + std::to_string(i) + "].save_path"),
                           "= \"" + *datasets[i].save_path + "\" is that of datasets[" +
                               std::to_string(j) + "] too; give each a folder of its own"});
      break;
    }
  }
  CheckUnits(*this, path, problems);
  AdviseOnLengths(*this, names, path, problems);
  if (mix.weights) CheckNames(*mix.weights, names, config::JoinPath(path, "mix.weights"), problems);
  if (mix.weight_schedule) {
    for (size_t i = 0; i < mix.weight_schedule->size(); ++i) {
      CheckNames((*mix.weight_schedule)[i].weights, names,
                 config::JoinPath(path, "mix.weight_schedule[" + std::to_string(i) + "].weights"),
                 problems);
    }
  }
}

}  // namespace easydata::configs
