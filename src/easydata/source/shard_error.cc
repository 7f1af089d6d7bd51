#include "easydata/source/shard_error.h"

#include <string>

#include "easydata/base/escaped_text.h"
#include "easydata/files/file_system.h"

namespace easydata::source {

Status ShardError(const Status& error, const std::shared_ptr<const ShardRef>& shard,
                  std::optional<int64_t> row) {
  if (error.IsCancelled()) return error;
  const std::string name = EscapedText(shard->shard);
  const std::string source = shard->source.empty() ? "" : "sources[\"" + shard->source + "\"] ";
  // A bare word might stand in any message.
  const bool is_path = name.find_first_of("./") != std::string::npos;
  std::string text = source;
  const auto says = [&](const std::string& words) {
    return error.message().find(words) != std::string::npos;
  };
  if (is_path && (says(name) || says(shard->shard))) {
    // It is about the file.
  } else if (row.has_value()) {
    text = Address{shard, *row, -1}.ToString();
    // The rows of a block are made together: which of them took too much is not known.
    text += error.IsOutOfMemory() ? " (or one after it): " : ": ";
  } else {
    text += name + ": ";
  }
  return Status(error.code(), text + error.message(), error.detail());
}

bool IsOfLostShard(const Status& error) {
  return files::IsFileError(error) || error.IsIOError() || error.IsInvalid();
}

}  // namespace easydata::source
