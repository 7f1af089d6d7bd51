#pragma once

#include <cstdint>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/stream/block_store.h"

namespace easydata::source {

/// What tells the bytes of a shard from those of all others, wherever it lies and whatever it is
/// called.
struct ShardIdentity {
  BlockKey::Hash hash = {};
  int64_t bytes = 0;
};

/// The identity of a file as it was listed, for what is kept and found again by another process:
///  - the hash of its content or a store's tag, with its size, where it is known by these;
///  - for a file of this machine its size, the time of its last change, and the first, the middle
///    and the last 4 KiB of it, which are read: files that were unpacked together have one time;
///  - what a server tells neither a tag nor a hash of: size, time and address.
///
/// An error is one of reading the file.
Result<ShardIdentity> IdentityOfFile(const files::FileInfo& file);

}  // namespace easydata::source
