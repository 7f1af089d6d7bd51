#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/storage/storage.h"

namespace easydata::verify {

/// The findings on one file.
struct VerifiedFile {
  std::string path;
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;
  /// Whether the metadata of its output says what must be in it; else it was read, and compared
  /// with the schema of the first file beside it.
  bool recorded = false;
  /// What is wrong with it; empty where it is intact.
  std::string problem;

  /// Each field by its name here.
  nlohmann::ordered_json ToJson() const;
};

struct VerifyOptions {
  /// Folders, files and glob patterns.
  std::vector<std::string> data;
  /// How they are reached; null: without options.
  std::shared_ptr<const storage::Storage> storage;
  /// Ids must be below it; unset: below the limit of the tokenizers that the metadata names.
  std::optional<int64_t> vocab_size;
  /// Files that are read at once; 0 for one a core.
  int num_threads = 0;
};

/// Checks files of training data against what is known of them: reads each whole.
///
/// For our own outputs: that each shard in the metadata is there, has the bytes and the hash that
/// it was written with, and the columns, rows and tokens; that there is no other data beside them;
/// that the output was finished. For other files: that they can be read, and have the columns of
/// the first one in their folder. For both: that ids in `input_ids` are from 0 to below the
/// vocabulary.
class Verifier {
 public:
  explicit Verifier(VerifyOptions options) : options_(std::move(options)) {}

  /// Checks all files, in order of their paths; called once. An error only where the data cannot be
  /// listed.
  Result<std::vector<VerifiedFile>> Run();

  /// Makes Run() return Cancelled soon; from any thread.
  void Cancel() { cancelled_ = true; }
  /// Files that are done.
  int64_t files_done() const { return files_done_; }

 private:
  const VerifyOptions options_;
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> files_done_{0};
};

}  // namespace easydata::verify
