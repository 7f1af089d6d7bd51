#include "easydata/io/mapped_file.h"

#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/util/io_util.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "easydata/io/local_file.h"

namespace easydata {
namespace {

// Below, a copy costs less than a mapping.
constexpr int64_t kLeastMapped = 64 << 10;

/// Pages of a file, mapped until the buffer goes.
class MappedBuffer : public arrow::Buffer {
 public:
  MappedBuffer(void* pages, size_t length, int64_t offset, int64_t size)
      : arrow::Buffer(static_cast<const uint8_t*>(pages) + offset, size),
        pages_(pages),
        length_(length) {}
  ~MappedBuffer() override { munmap(pages_, length_); }

 private:
  void* const pages_;
  const size_t length_;
};

class MappedFile : public arrow::io::RandomAccessFile {
 public:
  explicit MappedFile(std::shared_ptr<arrow::io::ReadableFile> file) : file_(std::move(file)) {}

  using arrow::io::RandomAccessFile::ReadAt;

  Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override {
    if (size < kLeastMapped) return file_->ReadAt(position, size);
    // As it is now: pages behind the end of a file that was cut must not be touched.
    struct stat info;
    const bool is_known = fstat(file_->file_descriptor(), &info) == 0;
    if (!is_known || position < 0 || position > info.st_size - size) {
      return file_->ReadAt(position, size);  // what there is, as of every other file
    }
    const int64_t offset = position % sysconf(_SC_PAGESIZE);
    const auto length = static_cast<size_t>(size + offset);
    // The pages are wanted at once: without a fault for each of them.
    void* pages = mmap(nullptr, length, PROT_READ, MAP_SHARED | MAP_POPULATE,
                       file_->file_descriptor(), position - offset);
    if (pages == MAP_FAILED) {
      return arrow::internal::IOErrorFromErrno(errno, "cannot map ", size, " bytes from ", position,
                                               " on");
    }
    return std::make_shared<MappedBuffer>(pages, length, offset, size);
  }

  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    return file_->ReadAt(position, size, out);
  }
  Result<int64_t> Read(int64_t size, void* out) override { return file_->Read(size, out); }
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override { return file_->Read(size); }
  Result<int64_t> GetSize() override { return file_->GetSize(); }
  Result<int64_t> Tell() const override { return file_->Tell(); }
  Status Seek(int64_t position) override { return file_->Seek(position); }
  Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }

 private:
  const std::shared_ptr<arrow::io::ReadableFile> file_;
};

}  // namespace

Result<std::shared_ptr<arrow::io::RandomAccessFile>> OpenMappedFile(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, OpenLocalFile(path));
  return std::make_shared<MappedFile>(
      std::static_pointer_cast<arrow::io::ReadableFile>(std::move(file)));
}

}  // namespace easydata
