#pragma once

#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/http/http_client.h"
#include "easydata/stores/hub/hub_address.h"

namespace easydata::hub {

/// Where the Hub is, and who asks.
struct HubAccess {
  std::string endpoint;     // "https://huggingface.co"
  std::string token;        // empty: nobody
  bool is_offline = false;  // nothing is asked of it: what its cache has is read
};

/// The files of a repository at a commit.
struct HubTree {
  std::string commit;
  /// By their paths in the repository, sorted; the tag is the SHA-256 of what is kept apart (LFS,
  /// Xet), 64 hexadecimal digits, and of other files the hash that git has of them, 40.
  std::vector<files::FileInfo> files;
};

/// What is on the Hub, as huggingface_hub tells it, which the Python module brings.
///
/// A call asks once, and may block; it ends soon, with Cancelled, where that is interrupted
/// (exec::StopScope). An IOError with errno says what became of it (ENOENT: there is
/// no such repository or revision; EACCES: it may not be read); other errors are those of a
/// program. Thread-safe.
class HubIndex {
 public:
  virtual ~HubIndex() = default;

  virtual Result<HubAccess> Access() const = 0;

  /// Finds the commit of a revision, and lists all files there. Offline: those that the cache has.
  /// `refusal` is the answer that failed, where one did: its status, and the headers that say when
  /// to come again.
  virtual Result<HubTree> List(const Repository& repository, http::HttpResponse* refusal) const = 0;

  /// The path of the cache's copy of a file at a commit; empty where it has none.
  virtual Result<std::string> CachedFile(const Repository& repository,
                                         const std::string& path) const = 0;
};

}  // namespace easydata::hub
