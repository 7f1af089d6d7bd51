#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/storage/storage.h"

namespace easydata::sink {

/// What the metadata of our own outputs says of their shards, for those who read them.
///
/// For each file the values of the metadata of its folder, each folder's read once: null for a file
/// that no output names, and where there is no metadata to be read, which nobody needs for reading.
std::vector<std::shared_ptr<const nlohmann::json>> RecordedOutputs(
    const std::vector<std::string>& files, const std::shared_ptr<const storage::Storage>& storage);

}  // namespace easydata::sink
