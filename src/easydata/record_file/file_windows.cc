#include "easydata/record_file/file_windows.h"

#include <arrow/io/interfaces.h>

#include <algorithm>

#include "easydata/base/byte_limit.h"
#include "easydata/files/positioned_file.h"

namespace easydata::record_file {
namespace {

constexpr int64_t kStep = 256 << 10;
// What a window has of the next one, so that few records lie in two.
constexpr int64_t kOverlap = 16 << 10;

ByteLimit windows_limit(FileWindows::kMostOfProcess);

}  // namespace

FileWindows::FileWindows(arrow::io::RandomAccessFile* file, int64_t size)
    : file_(file),
      size_(size),
      windows_(files::IsOfAnotherMachine(*file) || size > kMostOfProcess
                   ? 0
                   : static_cast<size_t>((size + kStep - 1) / kStep)) {}

FileWindows::~FileWindows() {
  for (size_t i = 0; i < windows_.size(); ++i) {
    const char* const bytes = windows_[i].load(std::memory_order_relaxed);
    if (bytes == nullptr) continue;
    delete[] bytes;
    windows_limit.GiveBack(BytesOf(i));
  }
}

int64_t FileWindows::BytesOf(size_t window) const {
  const int64_t begin = static_cast<int64_t>(window) * kStep;
  return std::min(kStep + kOverlap, size_ - begin);
}

Result<std::string_view> FileWindows::View(int64_t begin, int64_t end) const {
  const auto window = static_cast<size_t>(begin / kStep);
  const int64_t at = begin % kStep;
  if (window >= windows_.size() || at + end - begin > BytesOf(window)) return std::string_view();
  const char* bytes = windows_[window].load(std::memory_order_acquire);
  if (bytes == nullptr) {
    ARROW_ASSIGN_OR_RAISE(bytes, Load(window));
    if (bytes == nullptr) return std::string_view();
  }
  return std::string_view(bytes + at, static_cast<size_t>(end - begin));
}

Result<const char*> FileWindows::Load(size_t window) const {
  const int64_t size = BytesOf(window);
  if (!windows_limit.Take(size)) return nullptr;
  auto bytes = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(size));
  const auto got = file_->ReadAt(static_cast<int64_t>(window) * kStep, size, bytes.get());
  if (!got.ok() || *got != size) {
    windows_limit.GiveBack(size);
    if (!got.ok()) return got.status();
    return nullptr;
  }
  const char* known = nullptr;
  if (windows_[window].compare_exchange_strong(known, bytes.get(), std::memory_order_acq_rel)) {
    return bytes.release();
  }
  windows_limit.GiveBack(size);  // another thread was first
  return known;
}

}  // namespace easydata::record_file
