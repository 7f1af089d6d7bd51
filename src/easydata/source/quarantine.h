#pragma once

#include <cstdint>
#include <string>

#include "easydata/base/status.h"
#include "easydata/files/distinct_lines.h"

namespace easydata::source {

/// Writes rows that could not be read to a JSONL file, each with its address and what is wrong with
/// it:
/// {"source", "shard", "row", "error", "content"}. Content that is not UTF-8 stands in
/// "content_base64" (RFC 4648, 4), byte for byte; "content" has U+FFFD where it is not. A line that
/// the file has already, of another pass or an earlier run, is not added again.
class Quarantine {
 public:
  explicit Quarantine(std::string path);

  /// Adds a shard of which nothing was read from row `row` on, to the file beside it:
  /// {"source", "shard", "row", "error"}.
  Status AddShard(const std::string& source, const std::string& shard, int64_t row,
                  const std::string& error);

  Status Add(const std::string& source, const std::string& shard, int64_t row,
             const std::string& error, const std::string& content);

 private:
  files::DistinctLines rows_;
  files::DistinctLines shards_;
};

/// The file of lost shards that stands beside that of bad rows: "bad.jsonl" has "bad.shards.jsonl".
std::string LostShardsPath(const std::string& quarantine_path);

}  // namespace easydata::source
