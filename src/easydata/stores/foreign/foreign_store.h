#pragma once

#include <cstdint>
#include <string>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/stores/object_store.h"

namespace easydata::foreign {

/// What is said of a scheme that nobody knows, after "name://".
inline constexpr const char kOtherSchemes[] =
    " is no scheme that EasyData reads: it knows s3, gs, http, https and paths of this machine";

using stores::ObjectPage;

/// Files that another library reaches, like fsspec, which the Python module brings.
///
/// A call asks once, and may block. An IOError with errno says what became of it (ENOENT: there is
/// no such thing; EISDIR: it is a folder; EACCES: it may not be read); other errors are those of a
/// program, and not of files. Nothing that comes is trusted: ForeignFileSystem checks it.
/// Thread-safe.
class ForeignStore {
 public:
  virtual ~ForeignStore() = default;

  /// The files below a folder, named by its address and what comes after it, and by folder alone
  /// the files in it, with the names of the folders in `folders`, from `folder` on.
  virtual Result<ObjectPage> List(const std::string& folder, bool by_folder) const = 0;

  /// Present size and identity. The tag is "NAME VALUE", the name of a property that changes with
  /// the content and its value, or empty.
  virtual Result<files::FileInfo> Stat(const std::string& uri) const = 0;

  /// Reads up to `size` bytes from byte `position` on; how many it would have given is returned,
  /// which may be fewer, or more.
  virtual Result<int64_t> Read(const std::string& uri, int64_t position, int64_t size,
                               void* out) const = 0;
};

}  // namespace easydata::foreign
