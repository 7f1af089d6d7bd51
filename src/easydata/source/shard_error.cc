#include "easydata/source/shard_error.h"

#include <string>

namespace easydata {

Status ShardError(const Status& error, const std::shared_ptr<const ShardRef>& shard,
                  std::optional<int64_t> row) {
  if (error.IsCancelled()) return error;
  std::string text;
  if (row.has_value()) {
    text = Address{shard, *row, -1}.ToString();
    // The rows of a block are made together: which of them was too much is not known.
    text += error.IsOutOfMemory() ? " (or one behind it): " : ": ";
  } else {
    if (!shard->source.empty()) text = "sources[\"" + shard->source + "\"] ";
    if (error.message().find(shard->shard) == std::string::npos) text += shard->shard + ": ";
  }
  return Status(error.code(), text + error.message(), error.detail());
}

}  // namespace easydata
