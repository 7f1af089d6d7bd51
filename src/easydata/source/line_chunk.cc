#include "easydata/source/line_chunk.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include "easydata/base/fault_point.h"
#include "easydata/exec/exception_status.h"
#include "easydata/files/positioned_file.h"
#include "easydata/files/range_memory.h"

namespace easydata::source {
namespace {

constexpr int64_t kTailBytes = 64 << 10;
constexpr int64_t kKeptCapacity = 8 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

int64_t FindNewline(const char* data, int64_t from, int64_t size) {
  if (from >= size) return -1;
  const void* found = std::memchr(data + from, '\n', size - from);
  return found == nullptr ? -1 : static_cast<const char*>(found) - data;
}

std::string_view WithoutMark(std::string_view text, int64_t chunk) {
  if (chunk == 0 && text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

Status TooLong() {
  return Status::Invalid("a line is longer than 2 GiB; cut it, or take the file out");
}

/// Where a chunk lies in a file.
struct ChunkRange {
  ChunkRange(int64_t chunk, int64_t file_size)
      : k(chunk),
        end(std::min(file_size, (k + 1) * kChunkBytes)),
        // One byte earlier: a newline there says that a line starts at the chunk's first byte.
        origin(k == 0 ? 0 : k * kChunkBytes - 1) {}

  /// Where the first line of the chunk starts in what begins at `origin`; -1: in a later chunk.
  int64_t FirstLine(const char* data) const {
    if (origin == 0) return 0;
    const int64_t newline = FindNewline(data, 0, end - origin);
    return newline < 0 || origin + newline + 1 >= end ? -1 : newline + 1;
  }

  const int64_t k;
  const int64_t end;
  const int64_t origin;
};

/// Finds the lines of a chunk in memory, where they were fetched to; nothing where they are not
/// there, or the last one goes on behind what is.
Result<std::optional<std::string_view>> FindLineChunk(arrow::io::RandomAccessFile* file,
                                                      int64_t file_size, const ChunkRange& chunk,
                                                      ChunkBuffer* buffer, int64_t* bytes_read) {
  static_assert(files::kRangePadding >= kChunkPadding);
  ARROW_ASSIGN_OR_RAISE(auto known,
                        files::ViewOfFile(file, chunk.origin, chunk.end - chunk.origin));
  if (known == nullptr) return std::nullopt;
  const char* const data = reinterpret_cast<const char*>(known->data());
  const int64_t first = chunk.FirstLine(data);
  int64_t stop = first;
  if (first >= 0) {
    const int64_t newline = FindNewline(data, chunk.end - 1 - chunk.origin, known->size());
    if (newline < 0 && chunk.origin + known->size() < file_size) return std::nullopt;
    stop = newline < 0 ? known->size() : newline + 1;
  }
  *bytes_read += std::max(stop, chunk.end - chunk.origin);
  if (first < 0) return std::string_view();
  buffer->Hold(std::move(known));
  return WithoutMark({data + first, static_cast<size_t>(stop - first)}, chunk.k);
}

}  // namespace

Status ChunkBuffer::Reserve(int64_t size) {
  const int64_t wanted = size + kChunkPadding;
  if (wanted <= capacity_) return Status::OK();
  const int64_t capacity = std::max(wanted, capacity_ + capacity_ / 2);
  const bool may = FaultAt(FaultKind::kAllocate, "a chunk of lines") == 0;
  std::unique_ptr<char[]> grown(may ? new (std::nothrow) char[capacity] : nullptr);
  if (grown == nullptr) {
    return Status::OutOfMemory("there is no memory for a line of more than ", kept_, " bytes");
  }
  if (kept_ > 0) std::memcpy(grown.get(), data_.get(), kept_);
  data_ = std::move(grown);
  capacity_ = capacity;
  return Status::OK();
}

void ChunkBuffer::Release() {
  held_ = nullptr;
  if (capacity_ <= kKeptCapacity) return;
  data_.reset();
  capacity_ = 0;
}

Result<std::string_view> ReadLineChunk(arrow::io::RandomAccessFile* file, int64_t file_size,
                                       int64_t k, ChunkBuffer* buffer, int64_t* bytes_read,
                                       Status* broken) {
  const ChunkRange chunk(k, file_size);
  ARROW_ASSIGN_OR_RAISE(const auto there,
                        FindLineChunk(file, file_size, chunk, buffer, bytes_read));
  if (there.has_value()) return *there;
  const int64_t end = chunk.end;
  const int64_t origin = chunk.origin;
  int64_t size = 0;
  buffer->set_size(0);
  auto read_to = [&](int64_t offset) -> Status {
    const int64_t wanted = offset - origin;
    if (wanted > kMaxLineBytes + kChunkBytes) return TooLong();
    buffer->set_size(size);
    ARROW_RETURN_NOT_OK(buffer->Reserve(wanted));
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          file->ReadAt(origin + size, wanted - size, buffer->data() + size));
    *bytes_read += got;
    size += got;
    if (size < wanted) {
      return Status::IOError("the file became shorter while it was read: ", origin + size,
                             " bytes of ", file_size);
    }
    return Status::OK();
  };
  ARROW_RETURN_NOT_OK(read_to(end));
  const int64_t first = chunk.FirstLine(buffer->data());
  if (first < 0) return std::string_view();
  const auto text_to = [&](int64_t stop) {
    return WithoutMark({buffer->data() + first, static_cast<size_t>(stop - first)}, k);
  };
  int64_t searched = end - 1 - origin;
  int64_t step = kTailBytes;
  for (;;) {
    const int64_t newline = FindNewline(buffer->data(), searched, size);
    if (newline >= 0) return text_to(newline + 1);
    if (origin + size >= file_size) return text_to(size);
    searched = size;
    *broken = read_to(std::min(file_size, origin + size + step));
    if (!broken->ok()) {
      int64_t stop = end - origin;
      while (stop > first && buffer->data()[stop - 1] != '\n') --stop;
      return text_to(stop);
    }
    // Few lines are much longer than that; each step may be a request.
    step = std::clamp<int64_t>(step * 2, 1 << 20, 16 << 20);
  }
}

Status LineCutter::Fill(int64_t size) {
  while (used_ < size && !ended_ && broken_.ok()) {
    const int64_t step = std::max<int64_t>(size - used_, kTailBytes);
    if (used_ > kMaxLineBytes + kChunkBytes) {
      broken_ = TooLong();
      break;
    }
    if (static_cast<int64_t>(buffer_.size()) < used_ + step) {
      broken_ = exec::CatchExceptions([&] {
        if (FaultAt(FaultKind::kAllocate, "decompressed lines") != 0) throw std::bad_alloc();
        buffer_.resize(std::max<size_t>(used_ + step, buffer_.size() * 3 / 2));
        return Status::OK();
      });
      if (!broken_.ok()) break;
    }
    auto got = stream_->Read(step, buffer_.data() + used_);
    if (!got.ok()) {
      broken_ = got.status();
    } else if (*got == 0) {
      ended_ = true;
    } else {
      used_ += *got;
    }
  }
  return Status::OK();
}

Result<bool> LineCutter::Next(std::vector<char>* out, int64_t* size) {
  const int64_t chunk = next_++;
  const int64_t end = (chunk + 1) * kChunkBytes;
  int64_t cut = 0;
  if (base_ < end) {
    int64_t searched = end - 1 - base_;
    ARROW_RETURN_NOT_OK(Fill(end - base_));
    int64_t newline = FindNewline(buffer_.data(), searched, used_);
    int64_t step = kTailBytes;
    while (newline < 0 && !ended_ && broken_.ok()) {
      searched = std::max(searched, used_);
      ARROW_RETURN_NOT_OK(Fill(used_ + step));
      newline = FindNewline(buffer_.data(), searched, used_);
      step = std::min<int64_t>(step * 2, 16 << 20);
    }
    if (newline >= 0) {
      cut = newline + 1;
    } else if (broken_.ok()) {
      cut = used_;
      if (cut == 0) return false;
    } else {
      // Whole lines first: what follows the last newline is not known to be complete.
      cut = used_;
      while (cut > 0 && buffer_[cut - 1] != '\n') --cut;
      if (cut == 0) return broken_;
    }
  }
  std::string_view text = WithoutMark({buffer_.data(), static_cast<size_t>(cut)}, chunk);
  *size = static_cast<int64_t>(text.size());
  if (FaultAt(FaultKind::kAllocate, "a chunk of lines") != 0) throw std::bad_alloc();
  out->resize(text.size() + kChunkPadding);
  std::memcpy(out->data(), text.data(), text.size());
  std::memmove(buffer_.data(), buffer_.data() + cut, used_ - cut);
  used_ -= cut;
  base_ += cut;
  return true;
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

LineCount CountLines(std::string_view text, bool skip_blank) {
  LineCount count;
  ForEachLine(text, [&](std::string_view line) {
    ++count.lines;
    // The first byte tells of nearly every line that it is not blank.
    if (!skip_blank || (!line.empty() && (line[0] == '{' || !IsBlank(line)))) ++count.rows;
    return true;
  });
  return count;
}

void LineIndex::Note(int64_t k, const Entry& entry) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (k == static_cast<int64_t>(entries_.size())) entries_.push_back(entry);
}

int64_t LineIndex::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(entries_.size());
}

LineIndex::Entry LineIndex::At(int64_t k) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return entries_[k];
}

int64_t LineIndex::Find(int64_t row) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto after = std::upper_bound(entries_.begin(), entries_.end(), row,
                                      [](int64_t r, const Entry& entry) { return r < entry.row; });
  return after - entries_.begin() - 1;
}

}  // namespace easydata::source
