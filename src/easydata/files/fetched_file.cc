#include "easydata/files/fetched_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace easydata::files {
namespace {

// Formats look at a few bytes of a file's beginning and end, again and again: such reads take all
// of the end that they are in.
constexpr int64_t kPeekBytes = 4 << 10;
constexpr int64_t kEndBytes = 64 << 10;

}  // namespace

FetchedFile::FetchedFile(FileInfo file, FetchedRanges::Fetch fetch,
                         std::function<void()> count_damage)
    : PositionedFile(std::move(file)),
      fetch_(fetch),
      count_damage_(std::move(count_damage)),
      fetched_(std::move(fetch)) {}

bool FetchedFile::IsPeek(int64_t begin, int64_t end) const {
  return begin < end && end - begin <= kPeekBytes &&
         (end <= kEndBytes || begin >= info().size - kEndBytes);
}

Result<std::shared_ptr<arrow::Buffer>> FetchedFile::FetchEnd(int64_t position, int64_t* next) {
  const int64_t begin = position < kEndBytes ? 0 : std::max<int64_t>(info().size - kEndBytes, 0);
  fetched_.Announce({{begin, std::min(kEndBytes, info().size - begin)}});
  return fetched_.Find(position, next);
}

Result<int64_t> FetchedFile::ReadAt(int64_t position, int64_t size, void* out) {
  ARROW_RETURN_NOT_OK(CheckRange(position, size));
  const int64_t length = std::clamp<int64_t>(info().size - position, 0, size);
  auto* to = static_cast<char*>(out);
  for (int64_t at = position; at < position + length;) {
    int64_t next = position + length;
    ARROW_ASSIGN_OR_RAISE(auto known, fetched_.Find(at, &next));
    if (known == nullptr && IsPeek(at, next)) {
      ARROW_ASSIGN_OR_RAISE(known, FetchEnd(at, &next));
    }
    if (known == nullptr) {
      ARROW_RETURN_NOT_OK(fetch_(at, next - at, to));
    } else {
      next = std::min(position + length, at + known->size());
      std::memcpy(to, known->data(), static_cast<size_t>(next - at));
    }
    to += next - at;
    at = next;
  }
  return length;
}

Result<std::shared_ptr<arrow::Buffer>> FetchedFile::ReadAt(int64_t position, int64_t size) {
  ARROW_RETURN_NOT_OK(CheckRange(position, size));
  const int64_t length = std::clamp<int64_t>(info().size - position, 0, size);
  int64_t next = position + length;
  ARROW_ASSIGN_OR_RAISE(auto known, fetched_.Find(position, &next));
  if (known == nullptr && IsPeek(position, position + length)) {
    ARROW_ASSIGN_OR_RAISE(known, FetchEnd(position, &next));
  }
  if (known != nullptr && known->size() >= length) return arrow::SliceBuffer(known, 0, length);
  return PositionedFile::ReadAt(position, size);
}

Result<std::shared_ptr<arrow::Buffer>> FetchedFile::View(int64_t position, int64_t size) {
  ARROW_RETURN_NOT_OK(CheckRange(position, size));
  int64_t next = position + size;
  ARROW_ASSIGN_OR_RAISE(auto known, fetched_.Find(position, &next));
  return known != nullptr && known->size() >= size ? std::move(known) : nullptr;
}

Status FetchedFile::WillNeed(const std::vector<arrow::io::ReadRange>& ranges) {
  std::vector<arrow::io::ReadRange> there;
  for (const arrow::io::ReadRange& range : ranges) {
    const int64_t length = std::min(range.length, info().size - range.offset);
    if (range.offset >= 0 && length > 0) there.push_back({range.offset, length});
  }
  fetched_.Announce(there);
  return Status::OK();
}

void FetchedFile::NoteDamage() {
  fetched_.Forget();
  count_damage_();
}

}  // namespace easydata::files
