#include "easydata/files/positioned_file.h"

#include <algorithm>
#include <utility>

#include "easydata/base/fault_point.h"

namespace easydata::files {

Status CheckRange(int64_t position, int64_t size) {
  if (position >= 0 && size >= 0) return Status::OK();
  return Status::Invalid("there are no ", size, " bytes at byte ", position, " of a file");
}

bool IsOfAnotherMachine(const arrow::io::RandomAccessFile& file) {
  const auto* const positioned = dynamic_cast<const PositionedFile*>(&file);
  return positioned != nullptr && positioned->is_of_another_machine();
}

bool IsWorthReadingAgain(arrow::io::RandomAccessFile* file) {
  if (!IsOfAnotherMachine(*file)) return false;
  dynamic_cast<PositionedFile*>(file)->NoteDamage();
  return true;
}

Result<std::shared_ptr<arrow::Buffer>> ViewOfFile(arrow::io::RandomAccessFile* file,
                                                  int64_t position, int64_t size) {
  auto* const positioned = dynamic_cast<PositionedFile*>(file);
  if (positioned == nullptr) return nullptr;
  return positioned->View(position, size);
}

PositionedFile::PositionedFile(FileInfo file) : file_(std::move(file)) {
  set_mode(arrow::io::FileMode::READ);
}

Status PositionedFile::Seek(int64_t position) {
  if (position < 0) return Status::Invalid("a place in a file cannot be negative: ", position);
  position_ = position;
  return Status::OK();
}

Result<int64_t> PositionedFile::Read(int64_t size, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position_, size, out));
  position_ += got;
  return got;
}

Result<std::shared_ptr<arrow::Buffer>> PositionedFile::Read(int64_t size) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, size));
  position_ += buffer->size();
  return buffer;
}

Result<std::shared_ptr<arrow::Buffer>> PositionedFile::ReadAt(int64_t position, int64_t size) {
  ARROW_RETURN_NOT_OK(CheckRange(position, size));
  // A damaged length must not take memory for what the file does not have.
  const int64_t there = std::clamp<int64_t>(file_.size - position, 0, size);
  if (FaultAt(FaultKind::kAllocate, file_.uri) != 0) {
    return Status::OutOfMemory("no memory for ", there, " bytes of ", file_.uri);
  }
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(there));
  ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position, there, buffer->mutable_data()));
  ARROW_RETURN_NOT_OK(buffer->Resize(got));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

}  // namespace easydata::files
