#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/files/file_system.h"
#include "easydata/storage/open_file.h"

namespace easydata::source {

/// Takes a slot for an open file that a source keeps for later; there are few, as there are few
/// descriptors. Null where all are taken; destroying it gives it back.
std::shared_ptr<void> TakeKeptSlot();

/// Opens the files of a source, each once up to its first rows: a look at a file's head (its codec,
/// its schema, its first row) leaves it open for the pass that comes. `File` is what users share:
/// an open file, with its footer where it has one. Thread-safe.
///
/// The last two files that were looked at stay open until a pass takes them, or as long as this; no
/// other file is open for longer than its users have it. A file that changed is not handed out
/// again: it is opened anew, which gives the error.
template <typename File>
class OpenFiles {
 public:
  using Opener = std::function<Result<std::shared_ptr<File>>(const files::FileInfo& file)>;

  OpenFiles(std::vector<files::FileInfo> files, Opener open)
      : files_(std::move(files)), open_(std::move(open)) {}

  /// Opens file `i`: for a look it stays open for a while, for a pass the caller alone keeps it.
  Result<std::shared_ptr<File>> Open(size_t i, bool is_look) {
    ARROW_ASSIGN_OR_RAISE(auto file, Get(i));
    std::lock_guard<std::mutex> lock(mutex_);
    Kept* kept = FindKept(i);
    if (!is_look) {
      if (kept != nullptr) *kept = {};
    } else if (kept == nullptr) {
      last_kept_ = 1 - last_kept_;
      kept_[last_kept_] = {};  // gives its slot back first
      if (auto slot = TakeKeptSlot(); slot != nullptr) {
        kept_[last_kept_] = {i, file, std::move(slot)};
      }
    }
    return file;
  }

 private:
  struct Kept {
    size_t i = 0;
    std::shared_ptr<File> file;
    std::shared_ptr<void> slot;
  };

  Kept* FindKept(size_t i) {
    for (Kept& kept : kept_) {
      if (kept.file != nullptr && kept.i == i) return &kept;
    }
    return nullptr;
  }

  Result<std::shared_ptr<File>> Get(size_t i) {
    const files::FileInfo& info = files_[i];
    if (auto file = Shared(i); file != nullptr) {
      ARROW_ASSIGN_OR_RAISE(const files::FileSystem* system, storage::FileSystemOf(info));
      if (!system->IsKnownToDiffer(info)) return file;
    }
    ARROW_ASSIGN_OR_RAISE(auto file, open_(info));
    std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(shared_, [](const auto& entry) { return entry.second.expired(); });
    shared_[i] = file;
    if (Kept* kept = FindKept(i); kept != nullptr) *kept = {};
    return file;
  }

  std::shared_ptr<File> Shared(size_t i) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = shared_.find(i);
    return found == shared_.end() ? nullptr : found->second.lock();
  }

  const std::vector<files::FileInfo> files_;
  const Opener open_;
  std::mutex mutex_;
  std::unordered_map<size_t, std::weak_ptr<File>> shared_;  // those that are in use
  std::array<Kept, 2> kept_;
  size_t last_kept_ = 0;
};

}  // namespace easydata::source
