#pragma once

#include <arrow/type_fwd.h>

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"

namespace easydata {

/// What tells a block that is kept from all others: XXH3, 128 bits, of everything that determines
/// its rows, and of the part of that which is the plan that made it.
struct BlockKey {
  using Hash = std::array<uint64_t, 2>;  // high, low

  Hash plan = {};   // what the operators upstream are, without their files
  Hash block = {};  // the plan, the file, and which of its blocks

  auto operator<=>(const BlockKey&) const = default;
};

/// Rows that an operator made of a block of a file, as they are kept.
struct KeptBlock {
  std::shared_ptr<arrow::RecordBatch> rows;
  /// What must be known of the block without reading it; a few bytes.
  std::string facts;
  /// What else belongs to it; empty for most.
  std::string notes;
};

/// Keeps blocks of rows, so that whoever needs one again finds it: in this process, in a later one,
/// on another machine. What it gives is what was put, or nothing. Thread-safe.
///
/// Nothing that goes wrong with keeping is an error of the stream: what cannot be read is made
/// again, what cannot be written is dropped, and both are counted.
class BlockStore {
 public:
  /// The right to make a block, which ends with the object: other processes that want the block
  /// wait for it where they can, and make it themselves where they waited too long.
  class Claim {
   public:
    virtual ~Claim() = default;
    /// Keeps the block. Returns at once: it is written by a thread of the store, or dropped where
    /// the disk is full or too slow.
    virtual void Put(KeptBlock block) = 0;
  };
  /// Of one lookup: the block, or the right to make it.
  struct Found {
    std::optional<KeptBlock> block;
    std::unique_ptr<Claim> claim;
  };

  virtual ~BlockStore() = default;

  /// Says what a plan is, as JSON, whose blocks will come: for people who want to know why a block
  /// is not there.
  virtual void NotePlan(const BlockKey::Hash& plan, const std::string& json) {}

  /// KeptBlock::facts of a block that is kept; nothing where it is not. Reads nothing.
  virtual std::optional<std::string> Facts(const BlockKey& key) = 0;

  /// Gives a block, whose rows have the columns of `schema`, or the right to make it. May wait for
  /// another process that makes it: not longer than a few seconds, and not on after
  /// exec::StopScope says so (Cancelled).
  virtual Result<Found> Find(const BlockKey& key, const std::shared_ptr<arrow::Schema>& schema) = 0;
};

/// What a store has of a plan's rows.
struct KeptRows {
  int64_t blocks = 0;
  int64_t kept_blocks = 0;
  int64_t bytes = 0;  // of the files that the blocks are of
  int64_t kept_bytes = 0;
  /// Files of which not all is kept, in the order in which they are read.
  struct Missing {
    std::string file;
    int64_t blocks = 0;
    int64_t kept_blocks = 0;
  };
  std::vector<Missing> missing;
  /// Where a limit stands: blocks are counted until those that are there hold so many rows, as far
  /// as it is known how many rows blocks hold.
  std::optional<int64_t> rows_left;
};

/// A limit of rows that stands before operators which may leave some out: the stage that reads
/// gives no more than this, and the stage of the limit counts what was read for each batch.
struct RowLimit {
  int64_t max_rows = 0;
  int64_t rows = 0;  // so far
};

/// How a stage is to keep what it makes of blocks.
struct BlockKeeping {
  std::shared_ptr<BlockStore> store;
  /// BlockKey::plan of what is kept.
  BlockKey::Hash plan = {};
  /// A stage downstream of the stage that reads measures rows before `ops` are applied: batches
  /// have Batch::row_bytes.
  bool with_row_bytes = false;
  /// Where it is set, rows are counted before `ops` are applied: batches have Batch::read_rows.
  std::shared_ptr<RowLimit> limit = nullptr;
  /// Where it is set, nothing will be read: all blocks of the stream are counted here.
  KeptRows* counted = nullptr;

  /// That of part number `part` of a plan that has several.
  BlockKeeping OfPart(size_t part) const;
};

}  // namespace easydata
