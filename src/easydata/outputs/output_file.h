#pragma once

#include <arrow/io/interfaces.h>

#include <functional>
#include <memory>
#include <string>

#include "easydata/base/status.h"

namespace easydata::outputs {

/// A new file of an output, which counts and hashes (XXH3, 64 bits) what is written to it. Its
/// errors name the file and keep the errno. Thread-compatible.
class OutputFile : public arrow::io::OutputStream {
 public:
  ~OutputFile() override;

  Status Write(const void* data, int64_t size) final;
  using arrow::io::OutputStream::Write;
  /// Ends the file. All that is left is to give it its name (OutputStore::Publish).
  Status Close() override = 0;
  Result<int64_t> Tell() const final { return size_; }

  int64_t size() const { return size_; }
  /// Of all bytes written so far, 16 hexadecimal digits: as `xxhsum -H3` prints of the file.
  std::string hash() const;
  /// Leaves hashing to who writes: hash() is "" then. Before the first Write() only.
  void SkipHash();

 protected:
  OutputFile();

 private:
  virtual Status Store(const void* data, int64_t size) = 0;
  struct Hasher;

  int64_t size_ = 0;
  std::unique_ptr<Hasher> hasher_;
};

/// The same hash of an existing file of this machine. Cancelled soon after `stopped` returns true.
Result<std::string> HashOfFile(const std::string& path, const std::function<bool()>& stopped);

/// The same of a file that is open, of `size` bytes; an IOError where it has fewer.
Result<std::string> HashOfOpenFile(arrow::io::RandomAccessFile* file, int64_t size,
                                   const std::function<bool()>& stopped);

}  // namespace easydata::outputs
