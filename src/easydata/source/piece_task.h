#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "easydata/source/shard_reader.h"
#include "easydata/stream/batch.h"
#include "easydata/stream/block_store.h"

namespace easydata::source {

/// A part of a shard that is read (read_order.h), and the cursor of the order there.
struct OpenPart {
  std::shared_ptr<const ShardRef> ref;
  nlohmann::json cursor;
  bool has_relative_rows = false;
  size_t shard = 0;
  ShardPosition from;
  int64_t end_at = 0;
  double bytes_before = 0;  // ShardPart's
  double bytes = 0;
  /// Its rows, and of a shard that is read as a whole the blocks that may be kept, and bytes; where
  /// they are known.
  int64_t num_rows = -1;
  int64_t num_blocks = 0;
  int64_t file_size = 0;
  bool is_opened = false;
  /// Set by the consumer: nothing more of it is wanted.
  mutable std::atomic<bool> is_lost = false;
};

/// A piece of a shard that is ready to be made, on any thread.
struct PieceTask {
  std::shared_ptr<const OpenPart> part;
  std::optional<ShardPosition> start;  // of the part's first task: where its reader begins
  BlockTask task;
  std::optional<BlockKey> key = std::nullopt;  // that what comes of it is kept by
};

/// What came of it: of `batch` and `block`, rows count from the piece's first one.
struct PieceRows {
  std::shared_ptr<const OpenPart> part;
  std::optional<ShardPosition> start;
  int64_t next_at = 0;
  int64_t next_skip = 0;
  DecodedBlock block;
  Batch batch;
  Status op_error;
  /// Rows that operators were given whose rows may be kept.
  int64_t read_rows = 0;
  /// What it was made of, where a limit may ask for fewer rows of it.
  std::optional<BlockTask> task = std::nullopt;
  int64_t file_bytes = -1;  // BlockTask's
};

}  // namespace easydata::source
