#pragma once

#include <arrow/io/interfaces.h>

#include <functional>
#include <memory>
#include <string>

#include "easydata/base/status.h"

namespace easydata::io {

/// A new local file that counts and hashes (XXH3, 64 bits) what is written to it. Its errors name
/// the path and keep the errno. Thread-compatible.
class OutputFile : public arrow::io::OutputStream {
 public:
  /// Makes the file, or empties it where there is one.
  static Result<std::shared_ptr<OutputFile>> Open(const std::string& path);
  ~OutputFile() override;

  Status Write(const void* data, int64_t size) override;
  using arrow::io::OutputStream::Write;
  /// Closes the file and returns when all of it is on the disk.
  Status Close() override;
  Result<int64_t> Tell() const override { return size_; }
  bool closed() const override { return fd_ < 0; }

  int64_t size() const { return size_; }
  /// Of all bytes written so far, 16 hexadecimal digits: as `xxhsum -H3` prints of the file.
  std::string hash() const;

 private:
  OutputFile(int fd, std::string path);
  struct Hasher;

  int fd_;
  const std::string path_;
  int64_t size_ = 0;
  std::unique_ptr<Hasher> hasher_;
};

/// The same hash of an existing file. Cancelled soon after `stopped` returns true.
Result<std::string> HashOfFile(const std::string& path, const std::function<bool()>& stopped);

}  // namespace easydata::io
