#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/named_value.h"
#include "easydata/base/status.h"

namespace easydata::files {

/// What distinguishes a file from another one under the same name.
enum class IdentityKind {
  kTime,     // its size and the time of its last change; on a server, its ETag if it has one
  kContent,  // its size and a hash of all of it, for which it is read once more
  kSize,     // its size alone
};

std::span<const NamedValue<IdentityKind>> NamesOf(IdentityKind);

/// The identity of a file when it was listed, beside its size.
struct FileIdentity {
  IdentityKind kind = IdentityKind::kTime;
  int64_t mtime_ns = 0;  // since 1970
  std::string tag;       // kContent: the hash, hexadecimal; kTime: the server's ETag

  bool operator==(const FileIdentity&) const = default;
};

class FileSystems;

/// A file as it was when it was listed.
struct FileInfo {
  std::string uri;   // a path, for files of this machine
  int64_t size = 0;  // bytes
  FileIdentity identity;
  /// How it is reached; null: without options.
  std::shared_ptr<const FileSystems> storage = {};
  /// Its rows before each of its blocks, and all of them, where another process of the job found
  /// them out; null: nobody did.
  std::shared_ptr<const std::vector<int64_t>> row_starts = {};
  /// The largest window that frames of zstd in it may have, in bytes; 0: what zstd takes unasked.
  int64_t zstd_max_window = 0;
  /// The file beside it that says where its documents are, as it was when it was listed; null: none
  /// is there.
  std::shared_ptr<const FileInfo> index = {};

  bool operator==(const FileInfo& other) const {
    return uri == other.uri && size == other.size && identity == other.identity;
  }
};

}  // namespace easydata::files
