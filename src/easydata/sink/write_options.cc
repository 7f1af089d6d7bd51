#include "easydata/sink/write_options.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "easydata/config/descriptor.h"
#include "easydata/sink/output_metadata.h"

namespace easydata::sink {

config::FieldList WriteOptions::Fields() {
  using O = WriteOptions;
  const auto formats_taking = [](const char* option) {
    const std::vector<std::string> names = FormatsTaking(option);
    return std::vector<config::Json>(names.begin(), names.end());
  };
  return {
      config::Field{"format", &O::format, "Format of the shards."}.OneOf(FormatNames()),
      config::Field{"max_shard_size", &O::max_shard_size,
                    "Bytes of a file at which a shard is closed, at its next row group."}
          .AtLeast(1)
          .SupersededBy("num_shards")
          .SupersededBy("max_shard_rows"),
      config::Field{
          "num_shards", &O::num_shards,
          "Exact number of shards, in place of max_shard_size: runs of 1,024 rows are dealt to "
          "them in turn, shorter ones where rows are few, so that no shard is empty that a row is "
          "there for: all rows in runs of equal length, one for each shard, or, past 256 MB of "
          "content, as many rows a run as these have for each shard."}
          .AtLeast(1)
          .AtMost(100'000),
      config::Field{"max_shard_rows", &O::max_shard_rows,
                    "Exact number of rows of each shard but the last, in place of max_shard_size."}
          .AtLeast(1),
      config::Field{"units", &O::units,
                    "Bytes of the files that are read for one shard, in place of max_shard_size: "
                    "files that are smaller are put together, larger ones cut between blocks. "
                    "Each such unit is made by itself, packed rows too, in any process."}
          .AtLeast(1),
      config::Field{
          "column_types", &O::column_types,
          "Types of some columns, as written: {\"score\": \"float64\", \"meta.id\": "
          "\"string\"}; a path goes into objects and through lists. Unset, and for all "
          "others: as they come, for rows without a schema as the first 1,000 have them."},
      config::Field{"shard_column", &O::shard_column,
                    "Rows of one value of this column go into one of the num_shards shards, whose "
                    "number is the XXH3 hash (64 bits, seed 0) of the value's text modulo "
                    "num_shards: of text its UTF-8, of numbers and truth values what JSON has, of "
                    "dates and times their ISO text, of null nothing. Unset: rows are dealt in "
                    "their order."}
          .OrNone(),
      config::Field{"shard_prefix", &O::shard_prefix,
                    "Shards are named <prefix>_000000, <prefix>_000001 and so on, as ArrayRecord "
                    "files of a split are (\"train\"). Unset: shard-00000, shard-00001, ..."}
          .OrNone(),
      config::Field{"encode", &O::encode,
                    "What a record of an ArrayRecord file is: with \"json\" the row, all of its "
                    "columns, as a JSON object. Unset: the value of the only column."}
          .OneOf({"json"})
          .OrNone()
          .Beside("format", formats_taking("encode")),
      config::Field{"writer_options", &O::writer_options,
                    "Options of ArrayRecord files as the package array_record takes them, such as "
                    "\"group_size:16,zstd:9\": records of a chunk, which are read together, and "
                    "codec with its level. Unset: group_size:1 and compression."}
          .OrNone()
          .Beside("format", formats_taking("writer_options")),
      config::Field{
          "compression", &O::compression,
          "Codec; unset: zstd for Parquet and ArrayRecord, none for the others. Each format has "
          "some of them."}
          .OneOf(CompressionNames())
          .OrNone(),
      config::Field{
          "overwrite", &O::overwrite,
          "Replace an output that is there already, wholly. Only what its own metadata names is "
          "deleted: any other file in the folder is an error, and so is one that is read."},
      config::Field{"num_threads", &O::num_threads, "Worker threads; unset: one for each core."}
          .AtLeast(1, " (None: one for each core)")
          .OrNone()
          .ForCompatibility("the output is the same, whatever the number of threads"),
  };
}

void WriteOptions::Check(const std::string& path, config::Problems* problems) const {
  const auto refuse = [&](const char* name, const std::string& text) {
    problems->push_back({config::Problem::Kind::kValue, config::JoinPath(path, name), text});
  };
  if (num_shards.has_value() && max_shard_rows.has_value()) {
    refuse("max_shard_rows", "has no meaning beside num_shards; give one of the two");
  }
  const bool has_size = max_shard_size != WriteOptions().max_shard_size;
  for (const auto& [name, is_given] :
       {std::pair("max_shard_size", has_size), std::pair("num_shards", num_shards.has_value()),
        std::pair("max_shard_rows", max_shard_rows.has_value()),
        std::pair("shard_column", !shard_column.empty())}) {
    if (is_given && units.has_value()) {
      refuse(name, "has no meaning beside units, each of which is one shard; give one of the two");
    }
  }
  if (column_types.has_value()) {
    if (const auto types = ColumnTypes::Make(column_types->values); !types.ok()) {
      refuse("column_types", types.status().message());
    }
  }
  // Names that begin so are passed over by those who read folders.
  const bool is_hidden = shard_prefix.starts_with('.') || shard_prefix.starts_with('_');
  if (!shard_prefix.empty() && (is_hidden || !IsPlainName(shard_prefix))) {
    refuse("shard_prefix",
           "must be a plain name, without \"/\" and not beginning with \".\" or \"_\", not \"" +
               shard_prefix + "\"");
  }
  for (const auto& [name, value] :
       {std::pair("encode", &encode), std::pair("writer_options", &writer_options)}) {
    const std::vector<std::string> formats = FormatsTaking(name);
    if (value->empty() || std::find(formats.begin(), formats.end(), format) != formats.end()) {
      continue;
    }
    refuse(name, "is of the format " + JoinedByOr(formats) + ", not of " + format);
  }
  if (writer_options.empty()) return;
  const auto group_size = GroupSizeOf(records());
  if (!group_size.ok()) refuse("writer_options", group_size.status().message());
  if (!compression.empty()) {
    refuse("compression", "is what writer_options say, too; give one of the two");
  }
}

}  // namespace easydata::sink
