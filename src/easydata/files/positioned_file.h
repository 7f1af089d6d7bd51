#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <cstdint>
#include <memory>

#include "easydata/base/status.h"
#include "easydata/files/file_info.h"

namespace easydata::files {

/// A file that is read at positions: what Arrow wants of one beside ReadAt().
class PositionedFile : public arrow::io::RandomAccessFile {
 public:
  explicit PositionedFile(FileInfo file);

  Status Close() override {
    is_closed_ = true;
    return Status::OK();
  }
  bool closed() const override { return is_closed_; }
  Result<int64_t> Tell() const override { return position_; }
  Result<int64_t> GetSize() override { return file_.size; }
  Status Seek(int64_t position) override;
  Result<int64_t> Read(int64_t size, void* out) override;
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override;
  /// Reads into memory of its own; a range past the file's end takes memory for what there is only,
  /// whatever was asked for.
  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override;
  using arrow::io::RandomAccessFile::ReadAt;

  /// Bytes from `position` on that are in memory, or are on their way there and waited for: at
  /// least `size` of them, and kRangePadding readable ones after them. Null where they are not; the
  /// caller reads them then.
  virtual Result<std::shared_ptr<arrow::Buffer>> View(int64_t /*position*/, int64_t /*size*/) {
    return nullptr;
  }

  /// Whether it is on another machine, so that what was read may have been harmed on its way.
  virtual bool is_of_another_machine() const { return false; }

  /// Counts that what was read from another machine turned out to be damaged; it is read anew.
  virtual void NoteDamage() {}

 protected:
  /// As it was listed.
  const FileInfo& info() const { return file_; }

 private:
  const FileInfo file_;
  int64_t position_ = 0;
  bool is_closed_ = false;
};

/// PositionedFile::is_of_another_machine() of a file; false for files of other kinds.
bool IsOfAnotherMachine(const arrow::io::RandomAccessFile& file);

/// Whether a file that turned out to be damaged is worth reading again, as it is on another
/// machine; counts it then.
bool IsWorthReadingAgain(arrow::io::RandomAccessFile* file);

/// PositionedFile::View() of a file; null for files of other kinds.
Result<std::shared_ptr<arrow::Buffer>> ViewOfFile(arrow::io::RandomAccessFile* file,
                                                  int64_t position, int64_t size);

/// Invalid where a range has a negative position or length.
Status CheckRange(int64_t position, int64_t size);

}  // namespace easydata::files
