#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/io/fetched_ranges.h"
#include "easydata/io/file_info.h"
#include "easydata/io/http_store.h"
#include "easydata/io/positioned_file.h"

namespace easydata::io {

/// Asks for the size and identity of an object: its ETag where that is strong, and the time of its
/// last change. An IOError with errno where there is nothing (ENOENT), nothing for us (EACCES), no
/// size, or no answer in time.
Result<FileInfo> StatHttpObject(const HttpStore& store, const std::string& uri);

/// Reads a small object as a whole, whatever it is by now.
Result<std::string> ReadHttpObject(const HttpStore& store, const std::string& uri);

/// An object of a store that is read by ranges over HTTP.
///
/// Every answer is checked: status, Content-Range, length, identity (asked for by If-Match, and
/// compared). A range that does not come whole is asked for again from the byte that was reached. A
/// byte is handed out when it is the listed object's, as far as a server can be trusted; else the
/// error names address and byte, what was tried, and what came of it. Thread-safe.
class HttpFile final : public PositionedFile {
 public:
  HttpFile(std::shared_ptr<const HttpStore> store, FileInfo file);

  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override;
  /// A part of what was fetched ahead is not copied.
  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override;
  /// Begins to fetch ranges that will be read.
  Status WillNeed(const std::vector<arrow::io::ReadRange>& ranges) override;
  /// True: a range has no checksum, so it may have been harmed on its way.
  bool NoteDamage() override;

 private:
  /// What is read, and by whom: shared with the threads that fetch ahead.
  class Reader;

  bool IsPeek(int64_t begin, int64_t end) const;
  /// Fetches the first or last 64 kB of the file, as FetchedRanges::Find().
  Result<std::shared_ptr<arrow::Buffer>> FetchEnd(int64_t position, int64_t* next);

  const std::shared_ptr<Reader> reader_;
  FetchedRanges fetched_;
};

/// Opens an object that was listed. It is looked at first where it is known by its content; else
/// the first read finds out whether it is still that one.
Result<std::shared_ptr<HttpFile>> OpenHttpObject(std::shared_ptr<const HttpStore> store,
                                                 const FileInfo& file);

}  // namespace easydata::io
