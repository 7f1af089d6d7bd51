#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "easydata/files/file_info.h"
#include "easydata/pipeline/tokenizer_config.h"
#include "easydata/pipeline/transform_choice.h"
#include "easydata/sink/shard_format.h"
#include "easydata/source/data_formats.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/source_stage.h"

namespace easydata::pipeline {

/// A tokenizer by name or path, with its options, or as an object (Python only).
using AnyTokenizer = std::variant<std::string, TokenizerConfig, config::LiveObject>;

struct DatasetConfig {
  static constexpr const char* kName = "DatasetConfig";
  static constexpr const char* kDoc =
      "One dataset: where its rows are, what is done to them, and what differs from the stages' "
      "settings.";

  config::Paths data_files;
  std::optional<std::string> name;
  std::optional<std::string> type;
  std::string split = "train";
  std::optional<int64_t> num_rows;
  std::optional<std::string> dataset_split_name;
  std::optional<AnyTokenizer> tokenizer;
  std::optional<config::Named<config::AnyValue>> tokenizer_kwargs;
  std::optional<std::string> cache_path;
  bool cache_enabled = true;
  std::optional<std::string> save_path;
  std::optional<std::string> save_format;
  std::string content_field = "text";
  std::optional<source::RecordDecoding> decode;
  std::optional<std::vector<std::string>> additional_fields;
  std::optional<config::Callback> format_callback;
  std::optional<TransformChoice> transform;
  std::optional<std::string> chat_template;
  std::optional<TokenizerView> view;
  std::optional<config::Named<std::string>> format_fields;
  std::optional<std::string> shard_column;
  std::optional<int64_t> num_shards;
  std::optional<std::vector<std::string>> columns;
  std::optional<source::SourceShuffle> shuffle;
  std::optional<std::variant<std::string, int64_t>> shuffle_window_bytes;
  source::OnError on_error = source::SourceStageOptions().on_error;
  source::OnError on_missing = source::SourceStageOptions().on_missing;
  std::optional<std::string> quarantine_path;
  files::IdentityKind identity = files::FileIdentity().kind;
  std::optional<config::Named<config::AnyValue>> storage_options;

  static auto Fields() {
    using C = DatasetConfig;
    return std::tuple{
        config::Field{
            "data_files", &C::data_files,
            "Path, glob pattern (** too), folder, or a list of them; one file is one shard, "
            "sorted and distinct. Or rows in "
            "memory: a list of dicts, a `datasets` object, a source."}
            .Required(),
        config::Field{
            "name", &C::name,
            "Name in weights, statistics and output folders; unset: dataset_0, dataset_1, ... by "
            "position; where no dataset has a name, those of as many mix.weights, in their order."},
        config::Field{"type", &C::type,
                      "Format of the files; unset: by their suffixes, which must agree."}
            .OneOf(source::DataFormatNames({"huggingface", "hf"}))
            .Refuse("huggingface",
                    "datasets from the Hub come with a later version; wrap a loaded one with "
                    "HFDatasetShardedSource")
            .Refuse("hf",
                    "datasets from the Hub come with a later version; wrap a loaded one with "
                    "HFDatasetShardedSource"),
        config::Field{"split", &C::split, "Split of a Hub dataset."}.OnlyDefault(
            "local files have no splits; name the files of the split"),
        config::Field{"num_rows", &C::num_rows,
                      "Use the first rows only; of a shuffled dataset, the first in its order."}
            .AtLeast(1),
        config::Field{"dataset_split_name", &C::dataset_split_name,
                      "Subset (configuration) of a Hub dataset."}
            .OnlyDefault(
                "it names a subset of a Hub dataset, and the Hub comes with a later version"),
        config::Field{
            "tokenizer", &C::tokenizer,
            "Tokenizer of this dataset: a folder, a name, a TokenizerConfig or a tokenizer "
            "object. It goes before the "
            "tokenize stage's and the pipeline's."},
        config::Field{"tokenizer_kwargs", &C::tokenizer_kwargs,
                      "Options of TokenizerConfig that differ for this dataset; use_fast=True is "
                      "understood as well."},
        config::Field{"cache_path", &C::cache_path, "Folder of this dataset's cache."}.OnlyDefault(
            "caching comes with a later version"),
        config::Field{"cache_enabled", &C::cache_enabled,
                      "Let this dataset use the cache where a pipeline has one."},
        config::Field{"save_path", &C::save_path,
                      "Folder that this dataset is saved in, in place of output_dir/name."},
        config::Field{"save_format", &C::save_format,
                      "Format that this dataset is saved in, in place of the save stage's."}
            .OneOf(sink::FormatNames()),
        config::Field{
            "content_field", &C::content_field,
            "Column to tokenize. Text is tokenized; a list of messages is rendered by the chat "
            "template first."},
        config::Field{"additional_fields", &C::additional_fields,
                      "Columns kept beside the tokens."},
        config::Field{
            "format_callback", &C::format_callback,
            "Called with each row before anything else; returns the row to use, or None to leave "
            "it out."},
        config::Field{"format_fields", &C::format_fields,
                      "Columns to rename, {old: new}, after format_callback."},
        config::Field{"shard_column", &C::shard_column, "Column that decides a row's output shard."}
            .OnlyDefault("rows are dealt to output shards in their order"),
        config::Field{"num_shards", &C::num_shards,
                      "Exact number of output shards, in place of the save stage's."}
            .AtLeast(1),
        config::Field{"columns", &C::columns,
                      "Read these columns only; unset: those that later stages need."},
        config::Field{"decode", &C::decode,
                      "What records of ArrayRecord files are: text in content_field (unset, too), "
                      "tokens (little-endian int32) in input_ids, bytes in record, or JSON objects "
                      "of several columns."},
        config::Field{
            "shuffle", &C::shuffle,
            "Order of the rows: unset: as they are; \"blocks\": blocks of rows in random order; "
            "\"rows\": rows across "
            "blocks as well; \"grain\": Grain's permutation. Another order in each epoch, from "
            "the seed."},
        config::Field{
            "shuffle_window_bytes", &C::shuffle_window_bytes,
            "Content of a window of shuffle=\"rows\": bytes, or \"256MB\" (of 1024 KB); unset: "
            "64MB."}
            .AtLeast(1),
        config::Field{
            "on_error", &C::on_error,
            "What happens to rows that do not parse, are not UTF-8, lack the field or have the "
            "wrong type: stop, "
            "leave out and count, or leave out and write to quarantine_path."},
        config::Field{
            "on_missing", &C::on_missing,
            "What happens to files that cannot be opened or read to their end, after all attempts, "
            "or that were exchanged: stop, leave out what is left of them and count it, or also "
            "list them in a file beside quarantine_path (bad.jsonl: bad.shards.jsonl)."},
        config::Field{"quarantine_path", &C::quarantine_path,
                      "JSONL file that on_error=\"quarantine\" appends bad rows to."},
        config::Field{
            "identity", &C::identity,
            "What tells a data file from another one under its name, while it is read and where a "
            "saved state goes on: its size and time of change; its size and content, for which "
            "all of it is read once more; its size alone, for copies that have other times."},
        config::Field{"storage_options", &C::storage_options,
                      "Who asks for files on object stores and web servers, and how patiently "
                      "(docs/guide/stores.md); unset: the source stage's dask_storage_options, and "
                      "the credentials that the platform has."}
            .Secret(),
        config::Field{
            "transform", &C::transform,
            "Makes the rows of this dataset, after format_fields: examples for a trainer by name "
            "(sft, dpo, orpo, cpo, kto, bco, grpo, ppo, reward, embedding), alone or with options "
            "({name: sft, max_length: 1024}), with the dataset's tokenizer; or a transform of "
            "your own, an object or its import path. Rows of tokens are not tokenized again."},
        config::Field{
            "chat_template", &C::chat_template,
            "Chat template of this dataset in place of its tokenizer's: the text, or the path of "
            "a file."},
        config::Field{"view", &C::view,
                      "What of the tokenizer's folder runs, in place of what the TokenizerConfig "
                      "says."},
    };
  }

  void Check(const std::string& path, config::Problems* problems) const;
};

/// Adds a problem when options of a storage cannot be meant; it shows none of their values.
void CheckStorageOptions(const config::Named<config::AnyValue>& options, const std::string& path,
                         config::Problems* problems);
/// Adds a problem when `value` is no path, or a URI of a scheme that nothing is read from.
void CheckReadPlace(const std::string& value, const std::string& path, config::Problems* problems);
/// The same for what outputs are written to.
void CheckWrittenPlace(const std::string& value, const std::string& path,
                       config::Problems* problems);

}  // namespace easydata::pipeline
