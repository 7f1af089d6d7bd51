#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/outputs/output_store.h"
#include "easydata/sink/source_tokens.h"

namespace easydata::sink {

/// The file of a finished output that says what is in it. The dot keeps readers of folders from
/// taking it for a shard: `datasets` reads names with an underscore.
inline constexpr char kMetadataName[] = ".metadata.json";
/// A file that other tools keep beside data. It is the user's: never read, written or deleted.
inline constexpr char kUserMetadataName[] = "metadata.json";
inline constexpr int kMetadataVersion = 1;
/// What its "kind" says.
inline constexpr char kMetadataKind[] = "easydata.output";

/// One finished file of an output.
struct ShardRecord {
  std::string name;  // "shard-00000.parquet"
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  std::string hash;  // XXH3, 64 bits, of the file: 16 hexadecimal digits
  /// Numbers that JSON does not have (NaN, the infinities), written as null, by column.
  std::map<std::string, int64_t> nulls = {};
  /// Tokens by source; nothing where the shard has none, or an older version wrote it.
  SourceTokens source_tokens = {};
};

nlohmann::json ToJson(const ShardRecord& shard);

/// The metadata of a finished output, read and checked.
struct OutputMetadata {
  /// In order; their files may be missing or damaged, but are files of this folder.
  std::vector<ShardRecord> shards;
  /// All of its values.
  nlohmann::json values;
};

/// Reads the metadata of the output in a store: nothing where there is none of ours.
///
/// It is not trusted: each shard must be named once, by a plain name, and what is there under this
/// name must be a regular file. Anything else is an error, before a file of that name is opened.
Result<std::optional<OutputMetadata>> ReadOutputMetadata(const outputs::OutputStore& store);

// For other files that name shards.

/// Parses untrusted JSON: null where it is not JSON, or nested deeper than what we write.
std::optional<nlohmann::json> ParseSaved(const std::string& text);

/// Reads a shard as ToJson() wrote it; Invalid says what is wrong with it.
Result<ShardRecord> ShardFromJson(const nlohmann::json& value);

/// Whether a name is a single path component, so that it stays in its folder.
bool IsPlainName(const std::string& name);

/// OK where this name is a regular file or nothing.
Status CheckOwnFile(const outputs::OutputStore& store, const std::string& name);

}  // namespace easydata::sink
