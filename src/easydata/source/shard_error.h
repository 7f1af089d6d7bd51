#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "easydata/base/status.h"
#include "easydata/stream/address.h"

namespace easydata::source {

/// Adds the shard's name to an error, and the row where reading stopped, if known. One that names
/// the shard is about the file and stays as it is.
Status ShardError(const Status& error, const std::shared_ptr<const ShardRef>& shard,
                  std::optional<int64_t> row);

/// Whether a shard that gives this error when it is opened or read may be left out (on_missing): it
/// cannot be reached, is another one by now, or is damaged or of another kind. What a source asks
/// for and does not find in a shard (a column, a type), or in this machine, is none.
bool IsOfLostShard(const Status& error);

}  // namespace easydata::source
