#include "easydata/sink/write_options.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "easydata/config/descriptor.h"
#include "easydata/sink/output_metadata.h"

namespace easydata::sink {

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
