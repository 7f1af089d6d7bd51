#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::source {

/// What the files of a source say of their tokens (kVocabularyKey), as far as they were opened.
/// Thread-safe.
class FileVocabularies {
 public:
  /// What file `shard` says, where it was opened.
  std::optional<std::string> Get(size_t shard) const;
  /// Notes what file `shard` says; gives it back.
  std::string Note(size_t shard, const std::string& text);
  /// Notes it of a file whose columns `schema` are about to be read. Invalid where lists of numbers
  /// are among them, and a file that was read before has tokens of another tokenizer.
  Status Check(size_t shard, const std::string& text, const arrow::Schema& schema,
               const std::vector<std::string>& files);

 private:
  /// The number of a text among those that differ.
  size_t NumberOf(const std::string& text);

  mutable std::mutex mutex_;
  std::vector<std::string> texts_;  // that differ; there are few
  std::unordered_map<size_t, size_t> by_shard_;
  std::unordered_map<size_t, size_t> read_;  // the first shard that was read, by text
};

/// The value of kVocabularyKey; "" where there is none.
std::string VocabularyTextOf(const arrow::KeyValueMetadata* metadata);

}  // namespace easydata::source
