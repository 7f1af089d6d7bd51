#include "easydata/pipeline/dataset_config.h"

#include <algorithm>

namespace easydata::config {

void CheckLocal(const std::string& value, const std::string& path, Problems* problems) {
  if (value.find('\0') != std::string::npos) {
    problems->push_back({Problem::Kind::kValue, path,
                         "= " + Shown(Json(value)) + " has a NUL character, which no path can"});
  }
  const size_t at = value.find("://");
  if (at == std::string::npos || value.substr(0, at) == "file") return;
  problems->push_back({Problem::Kind::kLater, path,
                       "= " + Shown(Json(value)) +
                           " is not supported yet: object stores and HTTP come with a later "
                           "version; use local files"});
}

void DatasetConfig::Check(const std::string& path, Problems* problems) const {
  for (const std::string& file : data_files.values)
    CheckLocal(file, JoinPath(path, "data_files"), problems);
  if (save_path) CheckLocal(*save_path, JoinPath(path, "save_path"), problems);
  if (on_error == "quarantine" && !quarantine_path) {
    problems->push_back({Problem::Kind::kValue, JoinPath(path, "quarantine_path"),
                         "is required with on_error=\"quarantine\": name a JSONL file"});
  }
  if (on_error != "quarantine" && quarantine_path) {
    problems->push_back({Problem::Kind::kValue, JoinPath(path, "quarantine_path"),
                         "needs on_error=\"quarantine\", which is \"" + on_error + "\""});
  }
  if (shuffle_window_bytes && shuffle != "rows") {
    problems->push_back({Problem::Kind::kValue, JoinPath(path, "shuffle_window_bytes"),
                         "needs shuffle=\"rows\", which is " +
                             (shuffle ? "\"" + *shuffle + "\"" : std::string("unset"))});
  }
  if (tokenizer_kwargs) {
    std::vector<std::string> known = FieldNames<TokenizerConfig>();
    known.erase(known.begin());  // name_or_path is what `tokenizer` says
    known.push_back("use_fast");
    Json options = Json::object();
    for (const auto& [key, value] : tokenizer_kwargs->values) {
      if (key == "use_fast") {
        if (value.value != true) {
          problems->push_back({Problem::Kind::kValue, JoinPath(path, "tokenizer_kwargs.use_fast"),
                               "must be true: there are only fast tokenizers"});
        }
        continue;
      }
      options[key] = value.value;
    }
    const std::string at = JoinPath(path, "tokenizer_kwargs");
    CheckKeys(options, known, at, problems);
    Json named = options;
    for (const auto& [key, value] : options.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) named.erase(key);
    }
    named["name_or_path"] = "tokenizer";
    TokenizerConfig config;
    ReadConfig(named, &config, at, problems);
  }
}

}  // namespace easydata::config
