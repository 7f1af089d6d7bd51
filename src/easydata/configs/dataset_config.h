#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "easydata/configs/tokenizer_config.h"
#include "easydata/configs/transform_choice.h"
#include "easydata/files/file_info.h"
#include "easydata/sink/output_format.h"
#include "easydata/source/data_formats.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/source_stage.h"
#include "easydata/transform/part_rows.h"

namespace easydata::configs {

/// A tokenizer by name or path, with its options, or as an object (Python only).
using AnyTokenizer = std::variant<std::string, TokenizerConfig, config::LiveObject>;

struct DatasetConfig {
  static constexpr const char* kName = "DatasetConfig";
  static constexpr const char* kDoc =
      "One dataset: where its rows are, what is done to them, and what differs from the stages' "
      "settings.";
  static constexpr const char* kNodes[] = {"source"};

  config::Paths data_files;
  std::optional<std::string> name;
  std::optional<std::string> type;
  std::string split = "train";
  std::optional<int64_t> num_rows;
  transform::PartOptions parting;
  std::optional<std::string> dataset_split_name;
  std::optional<AnyTokenizer> tokenizer;
  std::optional<config::Named<config::AnyValue>> tokenizer_kwargs;
  std::optional<std::string> cache_path;
  bool cache_enabled = true;
  std::optional<std::string> save_path;
  std::optional<std::string> save_format;
  /// Of which content_field is an option here.
  transform::TokenizeOptions tokenizing;
  std::optional<source::RecordDecoding> decode;
  source::CsvOptions csv;
  source::TokenFileOptions token_files;
  std::optional<std::string> field;
  source::TextUnit sample_by = source::TextUnit::kLine;
  std::optional<std::vector<std::string>> additional_fields;
  std::optional<config::Callback> format_callback;
  std::optional<TransformChoice> transform;
  std::optional<std::vector<TransformChoice>> transforms;
  std::optional<std::string> chat_template;
  std::optional<std::string> template_date;
  std::optional<config::Named<config::AnyValue>> chat_template_kwargs;
  std::optional<TokenizerView> view;
  std::optional<config::Named<std::string>> format_fields;
  std::optional<std::string> shard_column;
  std::optional<int64_t> num_shards;
  std::optional<std::vector<std::string>> columns;
  std::optional<config::Named<std::string>> column_types;
  std::optional<source::SourceShuffle> shuffle;
  std::optional<std::variant<std::string, int64_t>> shuffle_window_bytes;
  std::optional<std::variant<std::string, int64_t>> zstd_max_window;
  bool hive_partitioning = false;
  source::ErrorPolicy errors;
  files::IdentityKind identity = files::FileIdentity().kind;
  std::optional<config::Named<config::AnyValue>> storage_options;

  static config::FieldList Fields();

  void Check(const std::string& path, config::Problems* problems) const;

 private:
  void CheckHub(const std::string& path, config::Problems* problems) const;
};

/// Whether a config names a dataset of the Hugging Face Hub, and not files: by its type, or as
/// "hf://datasets/org/name" without a path.
bool NamesHubDataset(const std::optional<std::string>& type,
                     const std::vector<std::string>& data_files);

/// Adds a problem when options of a storage cannot be meant; it shows none of their values.
void CheckStorageOptions(const config::Named<config::AnyValue>& options, const std::string& path,
                         config::Problems* problems);
/// Adds a problem when `value` is no path, or a URI of a scheme that nothing is read from.
void CheckReadLocation(const std::string& value, const std::string& path,
                       config::Problems* problems);
/// The same for what outputs are written to.
void CheckWrittenLocation(const std::string& value, const std::string& path,
                          config::Problems* problems);

}  // namespace easydata::configs
