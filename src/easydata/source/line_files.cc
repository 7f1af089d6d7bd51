#include "easydata/source/line_files.h"

#include <utility>

#include "easydata/io/compression.h"

namespace easydata {

LineFiles::LineFiles(std::vector<DataFile> files)
    : files_(std::move(files)), shards_(files_.size()) {}

Result<std::shared_ptr<LineShard>> LineFiles::Get(size_t i) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (shards_[i] == nullptr) {
    auto shard = std::make_shared<LineShard>();
    shard->file = files_[i];
    ARROW_ASSIGN_OR_RAISE(shard->codec, DetectCompression(shard->file));
    shards_[i] = std::move(shard);
  }
  return shards_[i];
}

}  // namespace easydata
