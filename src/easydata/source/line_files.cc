#include "easydata/source/line_files.h"

#include <arrow/io/interfaces.h>

#include <algorithm>
#include <utility>

#include "easydata/files/compression.h"
#include "easydata/files/sequential_reads.h"
#include "easydata/storage/open_file.h"

namespace easydata::source {

LineFiles::LineFiles(std::vector<files::FileInfo> files)
    : files_(std::move(files)), open_(files_, storage::OpenFile), shards_(files_.size()) {}

Result<OpenLines> LineFiles::Open(size_t i, bool is_look) const {
  ARROW_ASSIGN_OR_RAISE(auto file, open_.Open(i, is_look));
  std::lock_guard<std::mutex> lock(mutex_);
  if (shards_[i] == nullptr) {
    auto shard = std::make_shared<LineShard>();
    shard->info = files_[i];
    // What it is, its first row and its first chunk are in here: one request for all of them.
    const int64_t first = std::min(shard->info.size, files::SequentialReads::kFirstBytes);
    ARROW_RETURN_NOT_OK(file->WillNeed({{0, first}}));
    ARROW_ASSIGN_OR_RAISE(shard->codec, files::DetectCompression(file.get(), shard->info));
    shards_[i] = std::move(shard);
  }
  return OpenLines{shards_[i], std::move(file)};
}

std::optional<int64_t> LineFiles::CountedRows(size_t i) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (shards_[i] == nullptr) return std::nullopt;
  std::lock_guard<std::mutex> shard_lock(shards_[i]->mutex);
  if (shards_[i]->num_rows < 0) return std::nullopt;
  return shards_[i]->num_rows;
}

}  // namespace easydata::source
