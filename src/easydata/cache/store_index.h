#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "easydata/cache/index_records.h"
#include "easydata/cache/token_file.h"

namespace easydata::cache {

/// A token file of a store, as this process knows it.
class StoredFile {
 public:
  explicit StoredFile(IndexedFile file);

  const std::string& name() const { return file_.name; }
  int64_t bytes() const { return file_.bytes; }
  const std::vector<TokenBlock>& blocks() const { return file_.blocks; }
  const IndexedFile& indexed() const { return file_; }
  /// The plans that it has blocks of, sorted.
  const std::vector<BlockKey::Hash>& plans() const { return plans_; }

  std::mutex mutex;                   // guards what follows
  std::shared_ptr<TokenFile> opened;  // null: not opened, or closed again
  std::vector<bool> verified;         // the blocks whose hashes were found right

  std::atomic<int64_t> touched_at = 0;  // when its use was last noted: ns of the steady clock
  std::atomic<int64_t> used_at = 0;     // when a block of it was last read here; 0: never

 private:
  const IndexedFile file_;
  std::vector<BlockKey::Hash> plans_;
};

/// Which blocks are in which files of a store. Thread-safe.
class StoreIndex {
 public:
  struct Place {
    std::shared_ptr<StoredFile> file;
    size_t number = 0;  // of the block in it
  };

  /// Adds a file, unless it is there with the same blocks.
  void Add(IndexedFile file);
  void Remove(std::string_view name);
  void Apply(std::vector<IndexRecord> records);
  /// Removes all but the files of these names.
  void KeepOnly(const std::set<std::string>& names);

  bool Contains(std::string_view name) const;
  std::optional<Place> Find(const BlockKey& key) const;
  std::optional<std::string> Facts(const BlockKey& key) const;
  std::vector<std::shared_ptr<StoredFile>> files() const;  // by name
  int64_t bytes() const;                                   // of all files

 private:
  struct KeyHash {
    size_t operator()(const BlockKey& key) const { return key.block[1]; }
  };

  void RemoveLocked(std::string_view name);

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<StoredFile>, std::less<>> files_;
  std::unordered_map<BlockKey, Place, KeyHash> places_;
  int64_t bytes_ = 0;
};

}  // namespace easydata::cache
