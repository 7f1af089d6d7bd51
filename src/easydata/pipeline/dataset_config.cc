#include "easydata/pipeline/dataset_config.h"

#include <algorithm>

#include "easydata/storage/storage.h"

namespace easydata::pipeline {

namespace {

void CheckPlace(const std::string& value, bool is_written, const std::string& path,
                config::Problems* problems) {
  const auto add = [&](config::Problem::Kind kind, const std::string& what) {
    // What is behind "?" may be a secret.
    const config::Json shown = value.substr(0, value.find('?'));
    problems->push_back({kind, path, "= " + config::Shown(shown) + what});
  };
  if (value.find('\0') != std::string::npos) {
    add(config::Problem::Kind::kValue, " has a NUL character, which no path can");
  }
  // What is read may be at schemes that are known when they are asked for.
  if (!is_written || value.find("://") == std::string::npos) return;
  if (storage::IsObjectScheme(storage::SchemeOf(value))) return;
  add(config::Problem::Kind::kLater,
      " is not supported: outputs go to s3://, gs:// and local folders (by their paths)");
}

}  // namespace

void CheckReadPlace(const std::string& value, const std::string& path, config::Problems* problems) {
  CheckPlace(value, /*is_written=*/false, path, problems);
}

void CheckWrittenPlace(const std::string& value, const std::string& path,
                       config::Problems* problems) {
  CheckPlace(value, /*is_written=*/true, path, problems);
}

void CheckStorageOptions(const config::Named<config::AnyValue>& options, const std::string& path,
                         config::Problems* problems) {
  config::Json json = config::Json::object();
  for (const auto& [name, value] : options.values) json[name] = value.value;
  const auto read = storage::StorageOptions::FromJson(json);
  if (read.ok()) return;
  problems->push_back({config::Problem::Kind::kValue, path, read.status().message()});
}

void DatasetConfig::Check(const std::string& path, config::Problems* problems) const {
  for (const std::string& file : data_files.values) {
    CheckReadPlace(file, config::JoinPath(path, "data_files"), problems);
  }
  if (save_path) CheckWrittenPlace(*save_path, config::JoinPath(path, "save_path"), problems);
  std::string problem =
      source::QuarantinePathProblem(on_error, on_missing, quarantine_path.has_value());
  if (!problem.empty()) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, "quarantine_path"),
                         std::move(problem)});
  }
  if (shuffle_window_bytes && shuffle != source::SourceShuffle::kRows) {
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, "shuffle_window_bytes"),
         "needs shuffle=\"rows\", which is " +
             (shuffle ? "\"" + std::string(NameOf(source::NamesOf(*shuffle), *shuffle)) + "\""
                      : std::string("unset"))});
  }
  if (storage_options) {
    CheckStorageOptions(*storage_options, config::JoinPath(path, "storage_options"), problems);
  }
  if (transform) CheckTransform(*transform, config::JoinPath(path, "transform"), problems);
  if (tokenizer_kwargs) {
    std::vector<std::string> known = config::FieldNames<TokenizerConfig>();
    known.erase(known.begin());  // name_or_path is what `tokenizer` says
    known.push_back("use_fast");
    config::Json options = config::Json::object();
    for (const auto& [key, value] : tokenizer_kwargs->values) {
      if (key == "use_fast") {
        if (value.value != true) {
          problems->push_back({config::Problem::Kind::kValue,
                               config::JoinPath(path, "tokenizer_kwargs.use_fast"),
                               "must be true: there are only fast tokenizers"});
        }
        continue;
      }
      options[key] = value.value;
    }
    const std::string at = config::JoinPath(path, "tokenizer_kwargs");
    config::CheckKeys(options, known, at, problems);
    config::Json named = options;
    for (const auto& [key, value] : options.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) named.erase(key);
    }
    named["name_or_path"] = "tokenizer";
    TokenizerConfig config;
    config::ReadConfig(named, &config, at, problems);
  }
}

}  // namespace easydata::pipeline
