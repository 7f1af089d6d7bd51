#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "easydata/source/file_list.h"
#include "easydata/source/line_source.h"

namespace easydata {

/// What is known of the files of a source of lines; each is looked at when it is first asked for.
class LineFiles {
 public:
  explicit LineFiles(std::vector<DataFile> files);
  Result<std::shared_ptr<LineShard>> Get(size_t i) const;

 private:
  const std::vector<DataFile> files_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<LineShard>> shards_;
};

}  // namespace easydata
