#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "easydata/io/file_info.h"
#include "easydata/io/http_client.h"
#include "easydata/io/http_retries.h"
#include "easydata/io/positioned_file.h"

namespace easydata::io {

struct HttpOptions {
  HttpLimits limits = {};
  RetryOptions retries = {};
};

/// Asks for the size and identity of what is at an address: its ETag where that is strong, and the
/// time of its last change. An IOError with errno where there is nothing (ENOENT), nothing for us
/// (EACCES), no size, or no answer in time.
Result<FileInfo> StatHttpObject(const std::string& url, const HttpOptions& options);

/// An object at an http or https address, read by ranges.
///
/// Every answer is checked: status, Content-Range, length, identity (asked for by If-Match, and
/// compared). A range that does not come whole is asked for again from the byte that was reached. A
/// byte is handed out when it is the listed object's, as far as a server can be trusted; else the
/// error names address and byte, what was tried, and what came of it. Thread-safe.
class HttpFile final : public PositionedFile {
 public:
  HttpFile(FileInfo file, const HttpOptions& options);

  using PositionedFile::ReadAt;
  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override;

 private:
  /// The ETag that answers must have: the listed one, or that of the first answer.
  std::string Tag() const;
  void AdoptTag(std::string_view tag);

  const HttpOptions options_;
  mutable std::mutex mutex_;
  std::string tag_;
};

}  // namespace easydata::io
