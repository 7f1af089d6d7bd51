#include "easydata/files/decompressed_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "easydata/base/hash.h"
#include "easydata/files/damaged_read.h"
#include "easydata/files/positioned_file.h"

namespace easydata::files {

namespace {
constexpr size_t kHashedAtOnce = 64 << 10;
}  // namespace

void RunningHash::Add(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kHashedAtOnce - held_.size());
    held_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (held_.size() < kHashedAtOnce) return;
    hash_ = Hash64(held_, hash_);
    held_.clear();
  }
}

uint64_t RunningHash::Get() const { return Hash64(held_, hash_); }

DecompressedStream::DecompressedStream(std::shared_ptr<arrow::io::RandomAccessFile> file,
                                       const Codec& codec, MemberCheck check)
    : file_(file),
      decoder_(std::move(file), codec),
      holds_(check == MemberCheck::kBeforeUse && IsOfAnotherMachine(*file_)) {}

Result<std::shared_ptr<DecompressedStream>> DecompressedStream::Open(
    std::shared_ptr<arrow::io::RandomAccessFile> file, const Codec& codec, MemberCheck check) {
  std::shared_ptr<DecompressedStream> stream(new DecompressedStream(std::move(file), codec, check));
  ARROW_RETURN_NOT_OK(stream->decoder_.Start());
  return stream;
}

Result<int64_t> DecompressedStream::Read(int64_t size, void* out) {
  auto* bytes = static_cast<uint8_t*>(out);
  int64_t got = 0;
  while (got < size) {
    if (held_.size() > 0) {
      got += held_.Take(size - got, bytes + got);
      continue;
    }
    if (!status_.ok() || decoder_.is_ended()) break;
    auto next = Next(size - got, bytes + got);
    if (next.ok()) {
      got += *next;
      continue;
    }
    status_ = next.status();
    if (!MayReadAgain()) continue;  // with what is held
    status_ = ReadAgain();
    got = 0;
  }
  if (got == 0 && size > 0) ARROW_RETURN_NOT_OK(status_);
  handed_out_.Add({static_cast<const char*>(out), static_cast<size_t>(got)});
  position_ += got;
  return got;
}

Result<std::shared_ptr<arrow::Buffer>> DecompressedStream::Read(int64_t size) {
  // A damaged length must not take memory for what the file does not have.
  constexpr int64_t kFirst = 1 << 20;
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(std::min(size, kFirst)));
  int64_t used = 0;
  for (;;) {
    const int64_t wanted = buffer->size() - used;
    ARROW_ASSIGN_OR_RAISE(const int64_t got, Read(wanted, buffer->mutable_data() + used));
    used += got;
    if (got < wanted || used == size) break;
    ARROW_RETURN_NOT_OK(buffer->Resize(std::min(size, 2 * used)));
  }
  ARROW_RETURN_NOT_OK(buffer->Resize(used));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

Result<int64_t> DecompressedStream::Next(int64_t size, uint8_t* out) {
  if (holds_ && !is_passed_) {
    ARROW_RETURN_NOT_OK(Hold());
    return 0;
  }
  ARROW_ASSIGN_OR_RAISE(const int64_t got, decoder_.Decode(size, out));
  if (decoder_.is_between_members()) is_passed_ = false;
  return got;
}

Status DecompressedStream::Hold() {
  do {
    int64_t size = 0;
    uint8_t* const out = held_.Reserve(&size);
    if (size == 0) {
      is_passed_ = true;
      return Status::OK();
    }
    ARROW_ASSIGN_OR_RAISE(const int64_t got, decoder_.Decode(size, out));
    held_.Add(got);
  } while (!decoder_.is_ended() && !decoder_.is_between_members());
  return Status::OK();
}

bool DecompressedStream::MayReadAgain() {
  return IsOfContent(status_) && !std::exchange(is_second_, true) &&
         IsWorthReadingAgain(file_.get());
}

Status DecompressedStream::ReadAgain() {
  holds_ = false;
  held_.Clear();
  ARROW_RETURN_NOT_OK(decoder_.Start());
  RunningHash again;
  std::vector<uint8_t> bytes(256 << 10);
  for (int64_t left = position_; left > 0 && !decoder_.is_ended();) {
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          decoder_.Decode(std::min<int64_t>(left, bytes.size()), bytes.data()));
    again.Add({reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(got)});
    left -= got;
  }
  if (again.Get() == handed_out_.Get()) return Status::OK();
  return Status::IOError(
      "the compressed file came damaged, and is another one when it is read again: what was "
      "taken of it before is wrong; resume from a state that was saved before this file, or start "
      "anew");
}

}  // namespace easydata::files
