#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "easydata/source/file_list.h"
#include "easydata/source/line_source.h"
#include "easydata/source/open_files.h"

namespace easydata::source {

/// The files of a source of lines, opened as OpenFiles does; the codec of each is detected when it
/// is first opened.
class LineFiles {
 public:
  explicit LineFiles(std::vector<files::FileInfo> files);

  /// Opens file `i`; with `is_look` it stays open for the pass that comes.
  Result<OpenLines> Open(size_t i, bool is_look) const;

  /// Rows of file `i`, where they were counted before (CountLineRows).
  std::optional<int64_t> CountedRows(size_t i) const;

 private:
  const std::vector<files::FileInfo> files_;
  mutable OpenFiles<arrow::io::RandomAccessFile> open_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<LineShard>> shards_;
};

}  // namespace easydata::source
