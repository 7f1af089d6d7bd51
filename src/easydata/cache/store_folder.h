#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/cache/block_claims.h"
#include "easydata/cache/store_index.h"
#include "easydata/cache/token_file.h"
#include "easydata/outputs/output_file.h"
#include "easydata/stream/block_store.h"

namespace easydata::cache {

/// A token file that is being written. Where it is not published nothing is left of it.
class UnfinishedFile {
 public:
  virtual ~UnfinishedFile() = default;

  const std::shared_ptr<outputs::OutputFile>& file() const { return file_; }
  /// Gives the file, which is closed, its name, and makes it known to others.
  virtual Status Publish(const IndexedFile& as) = 0;

 protected:
  std::shared_ptr<outputs::OutputFile> file_;
};

/// What may be removed from a folder, and when.
struct RoomLimits {
  std::optional<int64_t> max_bytes;
  std::optional<int64_t> expiry_seconds;
  /// Plans that this process runs.
  std::set<BlockKey::Hash> running;
  /// A file that stays.
  std::string kept;
};

/// What was removed.
struct RoomMade {
  int64_t files = 0;
  int64_t bytes = 0;
};

/// Where the files of a store are: a folder of this machine, or what lies below a prefix of an
/// object store. Thread-safe.
class StoreFolder {
 public:
  virtual ~StoreFolder() = default;

  /// Brings an index up to date with what is there; cheap where nothing was added.
  virtual Status Look(StoreIndex* index) = 0;

  /// The names of all files that look like the store's, whatever is in them.
  virtual Result<std::vector<std::string>> Names() = 0;
  /// Opens a file by its name.
  virtual Result<std::shared_ptr<TokenFile>> OpenFile(const std::string& name) = 0;
  virtual Result<std::unique_ptr<UnfinishedFile>> Begin() = 0;
  /// Notes that a file was used now.
  virtual void NoteUse(const std::string& name) = 0;
  /// Gives a damaged file another name, under which nobody looks for blocks.
  virtual void SetAside(const std::string& name) = 0;
  /// Removes files that the index names until the limits are kept.
  virtual RoomMade MakeRoom(StoreIndex* index, const RoomLimits& limits) = 0;

  /// The limit of all files together where none is set; `own_bytes`: what they take now.
  virtual int64_t DefaultLimit(int64_t own_bytes) const = 0;
  /// How long ago a file was last used; nothing where it is not known.
  virtual std::optional<int64_t> SecondsSinceUse(const std::string& name) = 0;

  /// Tells others that a plan runs, until this process ends.
  virtual void NoteRunning(const BlockKey::Hash& plan) = 0;
  /// Keeps a text beside the blocks of a plan, unless one is there.
  virtual Status PutPlan(const BlockKey::Hash& plan, const std::string& json) = 0;
  /// That text; "" where there is none.
  virtual std::string PlanOf(const BlockKey::Hash& plan) = 0;

  /// Who makes which block.
  virtual BlockClaims* claims() = 0;
};

/// The same text for the same hash: 32 hexadecimal digits.
std::string HexOf(const BlockKey::Hash& hash);

}  // namespace easydata::cache
