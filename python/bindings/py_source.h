#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/exec/thread_pool.h"
#include "easydata/files/file_info.h"
#include "easydata/source/shared_listing.h"
#include "easydata/source/source_stage.h"
#include "easydata/storage/storage.h"

namespace easydata {

/// What Python holds as `_native.Source`.
struct PySource {
  std::shared_ptr<const source::Source> source;
};

/// What Python holds as `_native.FileListing`.
struct PyFileListing {
  std::vector<files::FileInfo> files;
  /// How they are reached: each of them has it, and a listing of none has it, too.
  std::shared_ptr<const storage::Storage> storage;
  /// What another process found of their columns.
  source::SharedColumns columns = {};
};

/// How files on other machines are reached by these options, a mapping or None: a new storage, with
/// counters of its own. Needs the GIL.
std::shared_ptr<const storage::Storage> StorageFromPython(nb::handle options);

/// What iterators of rows share, however many are open; it ends with the last of them.
std::shared_ptr<exec::ThreadPool> SharedPool();

}  // namespace easydata
