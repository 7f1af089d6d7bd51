#pragma once

#include <arrow/io/interfaces.h>

#include <cstdint>
#include <memory>

#include "easydata/base/status.h"
#include "easydata/files/sequential_reads.h"

namespace easydata::files {

/// Reads a file from its start to its end, announcing what comes. Others may read the same file
/// meanwhile.
class FileStream final : public arrow::io::InputStream {
 public:
  FileStream(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size)
      : file_(file), size_(size), reads_(std::move(file), size) {}

  Result<int64_t> Read(int64_t size, void* out) override;
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override;
  Result<int64_t> Tell() const override { return position_; }
  Status Close() override {
    is_closed_ = true;
    return Status::OK();
  }
  bool closed() const override { return is_closed_; }

 private:
  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const int64_t size_;
  SequentialReads reads_;
  int64_t position_ = 0;
  bool is_closed_ = false;
};

}  // namespace easydata::files
