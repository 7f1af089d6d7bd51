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

}  // namespace easydata::source
