#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"
#include "easydata/storage/storage.h"

namespace easydata::source {

struct DataFiles {
  std::vector<files::FileInfo> files;  // sorted by URI, distinct
  /// Files that were found and are not data, by their names; hidden names are not listed.
  std::vector<std::string> left_out;
};

/// Lists the files that paths, patterns and folders stand for, with their identities: a job does
/// this once.
///
/// A path of a file is that file, whatever its name. A folder is all files below it whose names
/// tell a known format. Braces are several names: `{000..127}`, `{a,b}`. In a pattern `*`, `?` and
/// `[...]` match within a name and `**` any number of folders. Patterns and folders leave out:
/// - names that start with "_" or ".", folders too, and "metadata.json": they are never data;
/// - config.json, dataset_info.json, state.json, dataset_dict.json, tokenizer*.json,
///   special_tokens_map.json and README.md beside shards of another format, as model folders and
///   `datasets.save_to_disk` have them;
/// - cache-*.arrow in a folder of `save_to_disk`, where `map` and `filter` leave their results.
///
/// A file that two of `data_files` name in their own ways (by a relative and an absolute path, by a
/// link) is listed once, under the name that was found first. The folder of a saved DatasetDict is
/// Invalid, naming its splits.
///
/// `storage` reaches files on other machines, and says what they are called: without what is secret
/// in an address. What matches nothing is an IOError (ENOENT) with the folder that was searched and
/// near misses; what is not a regular file (a FIFO, a socket, a device) is an IOError, too; a
/// scheme that is not known yet is NotImplemented.
///
/// With `keeps_missing` a file that is named and is not there, or is no regular file, is listed as
/// an empty one, so that it is found lost when its turn comes; unless all of them are.
Result<DataFiles> ListDataFiles(
    const std::vector<std::string>& data_files,
    std::shared_ptr<const storage::Storage> storage = storage::Storage::Default(),
    bool keeps_missing = false);

}  // namespace easydata::source
