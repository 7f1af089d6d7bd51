#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/cache/token_file.h"
#include "easydata/storage/storage.h"
#include "easydata/stream/block_store.h"

namespace easydata::cache {

struct TokenStoreOptions {
  /// Bytes that the files of the folder may take together; unset: a tenth of what is free on its
  /// disk when the store is opened, at most 100 GB. A limit below the size of one file is kept
  /// within one file.
  std::optional<int64_t> max_bytes;
  /// Files that were not used for so long are removed, but for those of plans that run; unset:
  /// never. 0: whatever is not of a running plan.
  std::optional<int64_t> expiry_seconds;
  Compression compression = Compression::kNone;
  /// Blocks that are kept in memory beside the folder, those used last; 0: none.
  int64_t memory_blocks = 0;
  /// A file is complete at so many bytes.
  int64_t file_bytes = int64_t{64} << 20;
  /// Bytes of blocks that wait to be written; what would be more is dropped.
  int64_t queue_bytes = int64_t{256} << 20;
};

/// What a store has done since it was opened.
struct TokenStoreStats {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t hit_bytes = 0;
  int64_t written_blocks = 0;
  int64_t written_bytes = 0;
  int64_t dropped_blocks = 0;  // the disk was full or too slow
  int64_t damaged_blocks = 0;  // made again
  int64_t evicted_files = 0;
  int64_t waited = 0;  // for blocks that another process made

  /// Each count by its name here.
  nlohmann::ordered_json ToJson() const;
};

/// A folder of token files, here or on an object store, as blocks of rows.
///
/// Several processes and machines may use one at once. Here: a block is made by one of them
/// (byte-range locks, which end with their process), files that were not used lately are removed
/// beyond the limit, and only such as the store's own index names. On an object store: nobody waits
/// and nothing is removed; the same key has the same bytes, so the first writer of a name wins.
class TokenStore : public BlockStore {
 public:
  /// Opens the store of a folder ("" for one in memory alone), which is made where it is not there.
  /// Damage of the index is mended from the footers of files.
  static Result<std::shared_ptr<TokenStore>> Open(
      const std::string& folder, const TokenStoreOptions& options,
      const std::shared_ptr<const storage::Storage>& storage = nullptr);

  /// Keeps what a plan is made of beside its blocks, for explain: `plan` as JSON, once a plan.
  void NotePlan(const BlockKey::Hash& plan, const std::string& json) override = 0;

  /// Waits until what was put is written, or dropped, and complete files have their names.
  virtual Status Flush() = 0;

  virtual TokenStoreStats stats() const = 0;
};

/// Flush() of all stores that this process has open: before it ends, which ends their threads.
void FlushOpenStores();

/// A plan that a store has blocks of.
struct StoredPlan {
  BlockKey::Hash plan;
  std::string json;  // what NotePlan() was told; "" where that is lost
  int64_t blocks = 0;
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  int64_t used_seconds_ago = 0;  // by the clock of the folder's file system

  /// Each field by its name here; the plan as 32 hexadecimal digits.
  nlohmann::ordered_json ToJson() const;
};

/// What is in a store, without opening it for use: plans by their last use.
Result<std::vector<StoredPlan>> ListStore(const std::string& folder,
                                          const std::shared_ptr<const storage::Storage>& storage);

/// Reads all that is stored and checks its hashes: names of damaged files, with what is wrong.
struct StoreProblem {
  std::string file;
  std::string what;
};
Result<std::vector<StoreProblem>> VerifyStore(
    const std::string& folder, const std::shared_ptr<const storage::Storage>& storage,
    const std::function<bool()>& stopped);

/// Removes files of a folder here until `max_bytes` are left, those first that were used longest
/// ago, and those that were not used for `older_than_seconds`; bytes that were freed.
Result<int64_t> PruneStore(const std::string& folder, std::optional<int64_t> max_bytes,
                           std::optional<int64_t> older_than_seconds);

}  // namespace easydata::cache
