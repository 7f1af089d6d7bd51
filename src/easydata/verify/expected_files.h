#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/sink/output_metadata.h"
#include "easydata/storage/storage.h"

namespace easydata::verify {

/// A file to verify, and what it must hold.
struct ExpectedFile {
  std::string path;
  /// The output that it is a shard of, as its metadata says.
  std::shared_ptr<const sink::OutputMetadata> output;
  /// Its record in the output's metadata; null where there is none.
  const sink::ShardRecord* record = nullptr;
  /// What is wrong before it is opened; empty where nothing is.
  std::string problem;
  /// The file as it was listed; nothing of one that metadata alone names.
  std::optional<files::FileInfo> listed = std::nullopt;
};

/// Lists the files that folders, files and patterns stand for, sorted by path: those that are
/// there, and those that metadata in these folders names.
Result<std::vector<ExpectedFile>> ExpectFiles(
    const std::vector<std::string>& data, const std::shared_ptr<const storage::Storage>& storage);

}  // namespace easydata::verify
