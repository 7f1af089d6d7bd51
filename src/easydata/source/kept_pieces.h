#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/source/source.h"
#include "easydata/stream/batch.h"
#include "easydata/stream/block_store.h"

namespace easydata::source {

/// What must be known of a piece of a block (shard_reader.h) that is kept, without reading it.
struct PieceFacts {
  int64_t num_rows = 0;  // as DecodedBlock counts them
  int64_t num_lines = 0;
  int64_t next_at = 0;  // as BlockTask says it
  int64_t next_skip = 0;
  int64_t next_piece = kNoMorePieces;
  /// There is no such piece: the block ended before it, or goes on with `next_piece`.
  bool is_gap = false;
  int64_t read_rows = 0;   // that operators were given whose rows are kept
  int64_t first_line = 0;  // of the piece, where a part begins with it: a CSV file has a header

  std::string ToText() const;
  /// Nothing for what is none.
  static std::optional<PieceFacts> FromText(const std::string& text);
};

/// What operators made of a piece: rows, with what a stage tells of them and of those left out.
struct MadePiece {
  PieceFacts facts;
  /// Addresses and counts of rows left out have row numbers that count from the piece's first row.
  Batch batch;
  std::vector<BadRow> bad;
};

/// As it is kept, and back; rows of `shard` are all that it tells of.
KeptBlock ToKept(const MadePiece& made);
/// Nothing where it is damaged, or lacks bytes of rows that are wanted.
std::optional<MadePiece> FromKept(KeptBlock kept, const std::shared_ptr<const ShardRef>& shard,
                                  bool with_row_bytes);

/// Finds pieces of a source's shards in a store. For one thread, but for KeyOf().
class KeptPieces {
 public:
  KeptPieces(std::shared_ptr<const Source> source, BlockKeeping keeping)
      : source_(std::move(source)), keeping_(std::move(keeping)) {}

  const BlockKeeping& keeping() const { return keeping_; }

  /// Goes to a shard; false where nothing tells it from others, or it cannot be looked at.
  bool Enter(size_t shard);
  int64_t shard_bytes() const { return identity_.bytes; }

  /// The key of a piece of the shard.
  BlockKey KeyOf(const PieceId& piece) const;

  /// All pieces of a block of the shard, or its first ones up to `most_rows` rows; nothing where
  /// one of them is not kept.
  std::optional<std::vector<std::pair<PieceId, PieceFacts>>> OfBlock(
      int64_t block, int64_t most_rows = std::numeric_limits<int64_t>::max()) const;

  /// Keeps that there is no such piece of the shard: its block goes on with `next_piece`, or ends.
  void NoteGap(const PieceId& piece, int64_t next_piece = kNoMorePieces) const;

 private:
  const std::shared_ptr<const Source> source_;
  const BlockKeeping keeping_;
  ShardIdentity identity_;
};

/// Counts blocks `begin` .. `end` of a shard, and those that are kept; not those behind a limit.
void CountKeptBlocks(KeptPieces* pieces, size_t shard, const std::string& name,
                     const Blocks& blocks, int64_t begin, int64_t end, KeptRows* counted);

/// The position at which block `block` begins.
ShardPosition StartOfBlock(const Blocks& blocks, int64_t block);

/// Reads one piece of a shard by itself: of a block that was kept a moment ago.
Result<DecodedBlock> ReadPiece(const Source& source, size_t shard, const Blocks& blocks,
                               const PieceId& piece, const ReadOptions& options,
                               const std::shared_ptr<arrow::Schema>& schema,
                               const ReadContext& context);

}  // namespace easydata::source
