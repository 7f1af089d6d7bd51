#pragma once

#include <cstdint>
#include <string>

#include "easydata/base/status.h"

namespace easydata::source {

/// Writes rows that could not be read to a JSONL file, each with its address and what is wrong with
/// it:
/// {"source", "shard", "row", "error", "content"}. Bytes that are not UTF-8 are replaced in
/// `content`.
class Quarantine {
 public:
  explicit Quarantine(std::string path) : path_(std::move(path)) {}

  /// Adds a shard of which nothing was read from row `row` on, to the file beside it:
  /// {"source", "shard", "row", "error"}.
  Status AddShard(const std::string& source, const std::string& shard, int64_t row,
                  const std::string& error);

  Status Add(const std::string& source, const std::string& shard, int64_t row,
             const std::string& error, const std::string& content);

 private:
  const std::string path_;
};

/// The file of lost shards that stands beside that of bad rows: "bad.jsonl" has "bad.shards.jsonl".
std::string LostShardsPath(const std::string& quarantine_path);

}  // namespace easydata::source
