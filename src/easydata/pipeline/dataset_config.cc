#include "easydata/pipeline/dataset_config.h"

#include <algorithm>

namespace easydata::pipeline {

void CheckLocal(const std::string& value, const std::string& path, config::Problems* problems) {
  if (value.find('\0') != std::string::npos) {
    problems->push_back(
        {config::Problem::Kind::kValue, path,
         "= " + config::Shown(config::Json(value)) + " has a NUL character, which no path can"});
  }
  const size_t at = value.find("://");
  if (at == std::string::npos || value.substr(0, at) == "file") return;
  problems->push_back({config::Problem::Kind::kLater, path,
                       "= " + config::Shown(config::Json(value)) +
                           " is not supported yet: object stores come with a later version; use "
                           "local files"});
}

void DatasetConfig::Check(const std::string& path, config::Problems* problems) const {
  for (const std::string& file : data_files.values) {
    if (file.starts_with("http://") || file.starts_with("https://")) continue;
    CheckLocal(file, config::JoinPath(path, "data_files"), problems);
  }
  if (save_path) CheckLocal(*save_path, config::JoinPath(path, "save_path"), problems);
  std::string problem = source::QuarantinePathProblem(on_error, quarantine_path.has_value());
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
