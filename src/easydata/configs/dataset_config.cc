#include "easydata/configs/dataset_config.h"

#include <algorithm>

#include "easydata/files/address.h"
#include "easydata/storage/storage.h"
#include "easydata/stores/foreign/hub_address.h"

namespace easydata::configs {

namespace {

constexpr char kUseFast[] = "use_fast";

/// "$NAME" or "${NAME}" in a path; "" where there is none.
std::string ShellVariableIn(const std::string& path) {
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
  };
  for (size_t at = path.find('$'); at != path.npos; at = path.find('$', at + 1)) {
    size_t end = at + 1;
    const bool is_braced = end < path.size() && path[end] == '{';
    if (is_braced) ++end;
    const size_t name = end;
    while (end < path.size() && is_of_name(path[end])) ++end;
    const bool is_number = end > name && path[name] >= '0' && path[name] <= '9';
    if (end == name || is_number) continue;
    if (is_braced && (end == path.size() || path[end] != '}')) continue;
    return path.substr(at, end - at + (is_braced ? 1 : 0));
  }
  return "";
}

void CheckLocation(const std::string& value, bool is_written, const std::string& path,
                   config::Problems* problems) {
  const auto add = [&](config::Problem::Kind kind, const std::string& what) {
    const config::Json shown = files::ShownAddress(value);
    problems->push_back({kind, path, "= " + config::Shown(shown) + what});
  };
  if (value.find('\0') != std::string::npos) {
    add(config::Problem::Kind::kValue, " has a NUL character, which no path can");
  }
  if (is_written) {
    if (const std::string variable = ShellVariableIn(value); !variable.empty()) {
      add(config::Problem::Kind::kValue,
          " holds " + variable + ", which no shell has put in here: write the folder itself, or " +
              "give it on the command line, which a shell reads (-o \"" + variable + "/...\")");
      return;
    }
  }
  // What is read may be at schemes that are known when they are asked for.
  if (!is_written || value.find("://") == std::string::npos) return;
  const std::string scheme = storage::SchemeOf(value);
  if (scheme.empty() || storage::IsObjectScheme(scheme)) return;
  add(config::Problem::Kind::kLater,
      " is not supported: outputs go to s3://, gs:// and local folders");
}

void CheckColumnTypes(const NamedTypes& names, const std::string& path,
                      config::Problems* problems) {
  const auto types = ColumnTypes::Make(names);
  if (types.ok()) return;
  problems->push_back({config::Problem::Kind::kValue, path, types.status().message()});
}

bool IsHubType(const std::optional<std::string>& type) {
  return type == "huggingface" || type == "hf";
}

}  // namespace

config::FieldList DatasetConfig::Fields() {
  using C = DatasetConfig;
  const std::vector<std::string> tokens = {"tokenize", "examples"};
  const config::FieldList errors = config::FieldsOf(&C::errors);
  const config::FieldList tokenizing = config::FieldsOf(
      &C::tokenizing, config::Chosen(transform::TokenizeOptions::Fields(), {"content_field"}));
  config::FieldList fields = {
      config::Field{
          "data_files", &C::data_files,
          "Path, glob pattern (** too), folder, or a list of them; one file is one shard, "
          "sorted and distinct. Or a dataset of the Hugging Face Hub: hf://datasets/org/name, or "
          "org/name with type=\"hf\". Or rows in "
          "memory: a list of dicts, a dict of columns, a `datasets` object, a table of pandas, "
          "polars, "
          "pyarrow, DuckDB or whatever hands out Arrow, a source."}
          .Required(),
      config::Field{
          "name", &C::name,
          "Name in weights, statistics and output folders; unset: dataset_0, dataset_1, ... by "
          "position; where no dataset has a name, those of as many mix.weights, in their order."}
          .ActsAt({"source", "mix", "writer"}),
      config::Field{
          "type", &C::type,
          "Format of the files; unset: by their suffixes, which must agree. \"huggingface\" or "
          "\"hf\": data_files is a dataset of the Hugging Face Hub, org/name."}
          .OneOf(source::DataFormatNames({"huggingface", "hf"})),
      config::Field{"split", &C::split,
                    "Split of a dataset on the Hub: \"train\", several (\"train+test\"), or slices "
                    "of them (\"train[100:200]\", \"train[:1%]\")."},
      config::Field{"num_rows", &C::num_rows,
                    "Use the first rows only; of a shuffled dataset, the first in its order."}
          .ActsAt({"limit"})
          .AtLeast(1),
      config::Field{"dataset_split_name", &C::dataset_split_name,
                    "Subset (configuration) of a dataset on the Hub: the name of one of its card's "
                    "configs, or a folder; unset: the default."},
      config::Field{"tokenizer", &C::tokenizer,
                    "Tokenizer of this dataset: a folder, a name, a TokenizerConfig or a tokenizer "
                    "object. It takes "
                    "precedence over the tokenize stage's and the pipeline's."}
          .ActsAt(tokens)
          .OptionsOf(TokenizerConfig::kName),
      config::Field{"tokenizer_kwargs", &C::tokenizer_kwargs,
                    "Options of TokenizerConfig that differ for this dataset; use_fast=True is "
                    "understood as well."}
          .ActsAt(tokens)
          .OptionsOf(TokenizerConfig::kName)
          .AlsoTakes(kUseFast, "there are only fast tokenizers"),
      config::Field{"cache_path", &C::cache_path,
                    "Folder, here or on an object store (\"s3://bucket/prefix\"), that this "
                    "dataset's tokens are kept in, whether the pipeline has a cache or not; they "
                    "do not expire."}
          .ActsAt({"cache"})
          .SupersededBy("cache_enabled", {false})
          .SupersededBy("CacheStageConfig.enabled", {false})
          .SupersededBy("TokenizeStageConfig.cache_tokenized", {false}),
      config::Field{"cache_enabled", &C::cache_enabled,
                    "Keep this dataset's rows where it or the pipeline has a cache; false: they "
                    "are made anew."}
          .ActsAt({"cache"}),
      config::Field{"save_path", &C::save_path,
                    "Folder that this dataset is saved in, in place of output_dir/name."}
          .ActsAt({"writer.own"}),
      config::Field{"save_format", &C::save_format,
                    "Format that this dataset is saved in, in place of the save stage's."}
          .ActsAt({"writer.own"})
          .OneOf(sink::FormatNames()),
      tokenizing[0]
          .ActsAt({"source.text_field", "source.column", "tokenize"})
          .Instead("a transform reads columns by its own names: give the column one of these by "
                   "format_fields={\"old\": \"new\"}"),
      config::Field{"additional_fields", &C::additional_fields,
                    "Columns kept along with the tokens."}
          .ActsAt({"tokenize"})
          .Instead(
              "a transform keeps columns by transform={\"name\": ..., \"keep_columns\": [...]}"),
      config::Field{
          "format_callback", &C::format_callback,
          "Called with each row before anything else; returns the row to use, or None to leave "
          "it out."}
          .ActsAt({"map"}),
      config::Field{"format_fields", &C::format_fields,
                    "Columns to rename, {old: new}, after format_callback."}
          .ActsAt({"rename", "map"}),
      config::Field{
          "shard_column", &C::shard_column,
          "Column whose value decides a row's output shard, in place of the save stage's."}
          .ActsAt({"writer.own"}),
      config::Field{"num_shards", &C::num_shards,
                    "Exact number of output shards, in place of the save stage's."}
          .ActsAt({"writer.own"})
          .AtLeast(1),
      config::Field{"columns", &C::columns,
                    "Read these columns only; unset: those that later stages need."},
      config::Field{"column_types", &C::column_types,
                    "Types of some columns, as read: {\"score\": \"float64\", \"meta.id\": "
                    "\"string\"}; a path goes into objects and through lists. The others stay as "
                    "they are. A value that is none of its type is an error of its row."}
          .ActsAt({"cast"}),
      config::Field{"decode", &C::decode,
                    "What records of ArrayRecord files are: text in content_field, tokens "
                    "(little-endian int32) in input_ids, bytes in record, or JSON objects of "
                    "several columns. Unset: what the metadata of an output of ours says, and text "
                    "where there is none."},
      config::Field{"field", &C::field,
                    "JSON: each file is one object, and the rows are the list under this name in "
                    "it, as {\"data\": [...]} has it."}
          .ActsAt({"source.json"}),
      config::Field{"sample_by", &C::sample_by,
                    "What of a text file is a row: a line, a paragraph (what stands between empty "
                    "lines), or all of it, as `datasets` has it."}
          .ActsAt({"source.text"}),
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
          .ActsAt({"source.shuffle_window"})
          .Beside("shuffle", {"rows"})
          .AtLeast(1),
      config::Field{"hive_partitioning", &C::hive_partitioning,
                    "Give rows the columns that the folders of their file say: lang=en/year=2024/; "
                    "whole numbers where all values of a column are, else text."}
          .ActsAt({"source.files"}),
      config::Field{
          "zstd_max_window", &C::zstd_max_window,
          "The largest window of a zstd file that is decompressed, which takes as much memory: "
          "bytes, or \"2GB\" (of 1024 MB), as `zstd --long=31` makes it; unset: 128MB. More than "
          "that needs the system's libzstd."}
          .ActsAt({"source.csv", "source.text", "source.json", "source.arrow"})
          .AtLeast(1),
      errors[0],
      errors[1].ActsAt({"source.files"}),
      errors[2],
      config::Field{
          "identity", &C::identity,
          "How a data file that was replaced under the same name is noticed, while it is read and "
          "where a saved state is resumed: by its size and time of change; by its size and "
          "content, "
          "for which all of it is read once more; by its size alone, for copies with other times."}
          .ActsAt({"source.files"}),
      config::Field{"storage_options", &C::storage_options,
                    "Credentials for object stores and web servers, and how often to retry "
                    "(docs/guide/stores.md); unset: the source stage's dask_storage_options, and "
                    "the credentials that the platform has."}
          .ActsAt({"source.remote"})
          .Secret(),
      config::Field{
          "transform", &C::transform,
          "Makes the rows of this dataset, after format_fields: examples for a trainer by name "
          "(sft, dpo, orpo, cpo, kto, bco, grpo, ppo, reward, embedding), alone or with options "
          "({name: sft, max_length: 1024}), with the dataset's tokenizer; or a transform of "
          "your own, an object or its import path. Rows of tokens are not tokenized again."}
          .ActsAt(NodesOfSteps()),
      config::Field{
          "transforms", &C::transforms,
          "Several in place of transform, in this order: {rename: {old: new}}, {select: [a]}, "
          "{drop: [a]}, {cast: {a: float64}}, {add_field: {a: value}}, {filter_non_empty: [a]}, "
          "which the engine runs on whole columns; what `transform` takes, or {sft: {max_length: "
          "1024}}; and objects."}
          .ActsAt(NodesOfSteps()),
      config::Field{
          "chat_template", &C::chat_template,
          "Chat template of this dataset in place of its tokenizer's: the text, or the path of "
          "a file."}
          .ActsAt({"map.chat_template", "examples"}),
      config::Field{"template_date", &C::template_date,
                    "The date that a chat template prints, in place of the "
                    "TokenizerConfig's template_date."}
          .ActsAt({"map.chat_template", "examples"}),
      config::Field{"chat_template_kwargs", &C::chat_template_kwargs,
                    "Further variables for this dataset's chat template; they take precedence over "
                    "the TokenizerConfig's chat_template_kwargs."}
          .ActsAt({"map.chat_template", "examples"}),
      config::Field{"view", &C::view,
                    "Which tokenizer of the folder runs, in place of what the TokenizerConfig "
                    "says."}
          .ActsAt(tokens),
  };
  return config::Joined({std::move(fields), errors, config::FieldsOf(&C::parting),
                         config::FieldsOf(&C::csv), config::FieldsOf(&C::token_files)});
}

void CheckReadLocation(const std::string& value, const std::string& path,
                       config::Problems* problems) {
  CheckLocation(value, /*is_written=*/false, path, problems);
}

void CheckWrittenLocation(const std::string& value, const std::string& path,
                          config::Problems* problems) {
  CheckLocation(value, /*is_written=*/true, path, problems);
}

void CheckStorageOptions(const config::Named<config::AnyValue>& options, const std::string& path,
                         config::Problems* problems) {
  config::Json json = config::Json::object();
  for (const auto& [name, value] : options.values) json[name] = value.value;
  const auto read = storage::StorageOptions::FromJson(json);
  if (read.ok()) return;
  problems->push_back({config::Problem::Kind::kValue, path, read.status().message()});
}

bool NamesHubDataset(const std::optional<std::string>& type,
                     const std::vector<std::string>& data_files) {
  if (IsHubType(type)) return true;
  if (data_files.size() != 1 || !data_files[0].starts_with("hf://datasets/")) return false;
  const auto address = foreign::ParseHubAddress(data_files[0]);
  return address.ok() && address->path.empty();
}

void DatasetConfig::CheckHub(const std::string& path, config::Problems* problems) const {
  const auto add = [&](const char* option, std::string problem) {
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, option), std::move(problem)});
  };
  if (IsHubType(type) && (data_files.values.size() != 1 || !data_files.object.empty())) {
    add("data_files", "must be the name of one dataset, org/name, where type is \"" + *type + "\"");
  }
  if (NamesHubDataset(type, data_files.values)) {
    if (type.has_value() && !IsHubType(type)) {
      add("type",
          "a dataset of the Hub says itself of what format it is; leave it out, or name the "
          "files (hf://datasets/org/name/data/*.parquet)");
    }
    return;
  }
  if (split != DatasetConfig().split) {
    add("split",
        "files have no splits; name the files of the split, or a dataset of the Hub "
        "(type=\"hf\")");
  }
  if (dataset_split_name.has_value()) {
    add("dataset_split_name",
        "names a subset of a dataset on the Hub, and data_files names files; "
        "leave it out, or name the dataset (type=\"hf\")");
  }
}

void DatasetConfig::Check(const std::string& path, config::Problems* problems) const {
  for (const std::string& file : data_files.values) {
    if (IsHubType(type)) break;
    CheckReadLocation(file, config::JoinPath(path, "data_files"), problems);
  }
  CheckHub(path, problems);
  if (column_types.has_value()) {
    CheckColumnTypes(column_types->values, config::JoinPath(path, "column_types"), problems);
  }
  if (cache_path) CheckWrittenLocation(*cache_path, config::JoinPath(path, "cache_path"), problems);
  if (save_path) CheckWrittenLocation(*save_path, config::JoinPath(path, "save_path"), problems);
  std::string problem = source::QuarantinePathProblem(errors.on_error, errors.on_missing,
                                                      errors.quarantine_path.has_value());
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
  csv.Check(path, problems);
  token_files.Check(path, problems);
  parting.Check(path, problems);
  if (columns && columns->empty()) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, "columns"),
                         "must name one column at least; unset: those that later stages need"});
  }
  if (field && field->empty()) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, "field"),
                         "must name a field; unset, the rows are the document's own"});
  }
  if (storage_options) {
    CheckStorageOptions(*storage_options, config::JoinPath(path, "storage_options"), problems);
  }
  if (transform) CheckTransform(*transform, config::JoinPath(path, "transform"), problems);
  if (transforms) CheckTransforms(*transforms, config::JoinPath(path, "transforms"), problems);
  if (transform && transforms) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, "transform"),
                         "stands beside transforms; put it into that list, where it is to act"});
  }
  if (tokenizer_kwargs) {
    std::vector<std::string> known = config::FieldNames<TokenizerConfig>();
    known.erase(known.begin());  // name_or_path is what `tokenizer` says
    known.push_back(kUseFast);
    config::Json options = config::Json::object();
    for (const auto& [key, value] : tokenizer_kwargs->values) {
      if (key == kUseFast) {
        if (value.value != true) {
          problems->push_back({config::Problem::Kind::kValue,
                               config::JoinPath(path, "tokenizer_kwargs." + key),
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

}  // namespace easydata::configs
