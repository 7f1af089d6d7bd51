#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "easydata/base/status.h"
#include "easydata/cache/store_folder.h"
#include "easydata/cache/store_index.h"
#include "easydata/cache/token_file.h"
#include "easydata/stream/block_store.h"

namespace easydata::cache {

/// Reads blocks of token files: keeps some files open, checks the hashes of each block once, and
/// notes that files are used. Thread-safe.
class StoredReads {
 public:
  explicit StoredReads(StoreFolder* folder) : folder_(folder) {}

  /// Reads a block, twice where the first time fails: what was open may be an earlier file of the
  /// name. The error of the second time, with the file closed.
  Result<KeptBlock> Read(const StoreIndex::Place& place, const BlockKey& key,
                         const std::shared_ptr<arrow::Schema>& schema);

 private:
  Result<KeptBlock> ReadOnce(const StoreIndex::Place& place, const BlockKey& key,
                             const std::shared_ptr<arrow::Schema>& schema);
  Result<std::shared_ptr<TokenFile>> Opened(const std::shared_ptr<StoredFile>& file);
  static void Close(StoredFile* file);
  void NoteUse(StoredFile* file);

  StoreFolder* const folder_;
  std::mutex mutex_;
  std::deque<std::weak_ptr<StoredFile>> opened_;  // the latest last
};

}  // namespace easydata::cache
