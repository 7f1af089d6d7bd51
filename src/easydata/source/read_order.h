#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/source/source.h"
#include "easydata/stream/stage.h"
#include "easydata/stream/unit.h"

namespace easydata::source {

/// A part of a shard that is read in one go.
struct ShardPart {
  size_t shard = 0;    // an index into shard_names()
  ShardPosition from;  // its `row` counts from where `name` says
  int64_t end_at = kToTheEnd;
  std::optional<int64_t> rows;  // of the part, where the order knows them
  /// Bytes of the files of the parts before it, and of it (Source::KnownBytes); estimates where a
  /// part is not a whole file.
  double bytes_before = 0;
  double bytes = 0;
  /// The shard name in the addresses of its rows: the shard's own, or that and the byte from which
  /// rows are counted, where the number of the shard's rows before is not known.
  std::string name;
  bool has_relative_rows = false;
};

/// Gives the parts of a source's shards that one pass reads, in order. For one thread.
class ReadOrder {
 public:
  virtual ~ReadOrder() = default;

  /// The next part, or nothing at the end of the pass.
  virtual Result<std::optional<ShardPart>> Next() = 0;

  /// Writes where the order stands: at the part that Next() gave last, or before the first one.
  virtual void Save(nlohmann::json* cursor) const = 0;

  /// Makes Next() give the part again that was the last one at the save; after any calls of Next().
  virtual Status Restore(const nlohmann::json& cursor) = 0;

  /// Whether parts are blocks, which begin anywhere, or whole shards.
  virtual bool by_block() const = 0;

  /// Bytes of the files of all parts; nothing where that is not known of one of them.
  virtual std::optional<double> WholeBytes() const = 0;
};

/// The shards as they are listed, each as one part. Its cursor is {"shard": name}, which a new file
/// does not shift. `source_name` is for errors.
std::unique_ptr<ReadOrder> InShardOrder(std::shared_ptr<const Source> source,
                                        std::vector<size_t> shards, std::string source_name);

/// The blocks of the shards (Source::ListBlocks) one by one, distributed in turn to the lanes of a
/// stream: as they are listed, or in a random order of each (seed, epoch).
///
/// Shards come in groups of 64, in a random order by a permutation of all of them, and the blocks
/// of a group by a permutation of theirs: this bounds what must be known of the files, whatever
/// their number. Up to 64 shards are one group. Its cursor is {"group", "block"}. `on_missing` is
/// as of BlocksOfShard(), where `numbers_rows` counts with the context's pool.
std::unique_ptr<ReadOrder> InBlockOrder(std::shared_ptr<const Source> source,
                                        std::vector<size_t> shards,
                                        std::optional<uint64_t> shuffle_seed, OnError on_missing,
                                        const StageContext& context, bool numbers_rows = false);

/// The blocks of a unit as they are listed, whole shards each as one part. Its cursor is
/// {"run", "block"}.
std::unique_ptr<ReadOrder> InUnitOrder(std::shared_ptr<const Source> source,
                                       std::shared_ptr<const Unit> unit, OnError on_missing,
                                       std::shared_ptr<exec::ThreadPool> counts_with = nullptr);

/// Bytes of the files of some shards; nothing where that is not known of one of them.
std::optional<double> BytesOfShards(const Source& source, const std::vector<size_t>& shards);

/// Lists the blocks of a shard. One that may be left out, and is lost, is one block: reading it
/// tells why. With a pool to count with, rows are counted where no file states them
/// (Source::CountBlocks): those of every block have their numbers in the shard.
Result<Blocks> BlocksOfShard(const Source& source, size_t shard, OnError on_missing,
                             const std::shared_ptr<exec::ThreadPool>& counts_with = nullptr);

}  // namespace easydata::source
