#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"

namespace easydata {

/// The file of a finished output that says what is in it. The underscore keeps what reads folders
/// of shards from taking it for one.
inline constexpr char kMetadataName[] = "_metadata.json";
/// What it was called by versions up to 0.1.0. One that does not say that it is ours is the user's.
inline constexpr char kFormerMetadataName[] = "metadata.json";

/// One finished file of an output.
struct ShardRecord {
  std::string name;  // "shard-00000.parquet"
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  std::string hash;  // XXH3, 64 bits, of the file: 16 hexadecimal digits
};

nlohmann::json ToJson(const ShardRecord& shard);

/// The metadata of a finished output, read and checked.
struct OutputMetadata {
  /// The name of its file.
  std::string name;
  /// In order; their files may be missing or damaged, but are files of this folder.
  std::vector<ShardRecord> shards;
  /// All that it says.
  nlohmann::json values;
};

/// Reads the metadata of the output in `folder`: nothing where there is none of ours.
///
/// What it says is not believed: each shard is named once, by a plain name, and what is there under
/// this name is a regular file. Anything else is an error, before a file of that name is opened.
Result<std::optional<OutputMetadata>> ReadOutputMetadata(const std::string& folder);

/// The same of the file of one of the two names.
Result<std::optional<OutputMetadata>> ReadMetadataFile(const std::string& folder,
                                                       const std::string& name);

// For other files that name shards.

/// Parses JSON that may be anything: null where it is none, or nested so deep that it is none that
/// we write.
std::optional<nlohmann::json> ParseSaved(const std::string& text);

/// A shard as ToJson() wrote it; Invalid says what is wrong with it.
Result<ShardRecord> ShardFromJson(const nlohmann::json& value);

/// Whether a name is that of something in a folder, and in no other place.
bool IsPlainName(const std::string& name);

/// OK where what has this name in `folder`, if anything, is a regular file.
Status CheckOwnFile(const std::string& folder, const std::string& name);

}  // namespace easydata
