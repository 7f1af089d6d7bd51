#pragma once

#include <arrow/io/interfaces.h>

#include <memory>
#include <string>

#include "easydata/base/status.h"

namespace easydata {

/// A new local file that counts and hashes (XXH3, 64 bits) what is written to it. Its errors name
/// the path and keep the errno. Thread-compatible.
class OutputFile : public arrow::io::OutputStream {
 public:
  /// Makes the file, or empties it where there is one.
  static Result<std::shared_ptr<OutputFile>> Open(const std::string& path);
  ~OutputFile() override;

  Status Write(const void* data, int64_t size) override;
  using arrow::io::OutputStream::Write;
  Status Close() override;
  Result<int64_t> Tell() const override { return size_; }
  bool closed() const override { return fd_ < 0; }

  int64_t size() const { return size_; }
  /// Of all bytes written so far: the same as `xxhsum -H3` of the file says.
  uint64_t hash() const;

 private:
  struct Hasher;
  OutputFile(int fd, std::string path);

  int fd_;
  const std::string path_;
  int64_t size_ = 0;
  std::unique_ptr<Hasher> hasher_;
};

/// An IOError that names the path, with the errno of the call that failed last: `cannot <what>
/// <path>: <reason>`.
Status PathError(const std::string& what, const std::string& path, int error);

/// Writes a small file whole: under a temporary name, then renamed, so that readers see the old one
/// or the new one.
Status WriteFileAtomically(const std::string& path, const std::string& content);

}  // namespace easydata
