#include "easydata/files/file_stream.h"

#include <arrow/buffer.h>

#include <algorithm>

namespace easydata::files {

Result<int64_t> FileStream::Read(int64_t size, void* out) {
  ARROW_RETURN_NOT_OK(reads_.At(position_));
  ARROW_ASSIGN_OR_RAISE(const int64_t got,
                        file_->ReadAt(position_, std::min(size, size_ - position_), out));
  position_ += got;
  return got;
}

Result<std::shared_ptr<arrow::Buffer>> FileStream::Read(int64_t size) {
  ARROW_RETURN_NOT_OK(reads_.At(position_));
  ARROW_ASSIGN_OR_RAISE(auto buffer, file_->ReadAt(position_, std::min(size, size_ - position_)));
  position_ += buffer->size();
  return buffer;
}

}  // namespace easydata::files
