#include "easydata/files/member_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "easydata/files/zstd_frame_header.h"

namespace easydata::files {
namespace {

Status Broken(const std::string& how) {
  return Status::IOError("the compressed file ", how, "; get it again, or take it out");
}

/// Why a sound frame of zstd cannot be decompressed; OK where its header says nothing of the kind.
Status CheckZstdFrame(const ZstdFrameHeader& header, int64_t max_window) {
  if (header.dictionary != 0) {
    return Status::Invalid(
        "the zstd file needs dictionary ", header.dictionary,
        ", with which it was compressed; decompress it with that, and compress it again without");
  }
  if (header.window <= static_cast<uint64_t>(max_window)) return Status::OK();
  const uint64_t mebibytes = (header.window + (1 << 20) - 1) >> 20;
  return Status::Invalid(
      "the zstd file was compressed with a window of ", mebibytes, " MiB (--long or --ultra), and ",
      max_window >> 20, " MiB are the most that may be taken for it; set zstd_max_window=\"",
      mebibytes,
      "MB\", or compress it again with a smaller one (`zstd -dc --long=31 FILE | zstd -o "
      "NEW`)");
}

}  // namespace

Status MemberDecoder::Start() {
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
  stream_ = std::make_shared<FileStream>(file_, size);
  ARROW_ASSIGN_OR_RAISE(decompressor_, codec_.MakeDecompressor());
  begin_ = end_ = 0;
  is_drained_ = is_inside_ = is_ended_ = false;
  is_first_ = true;
  head_.clear();
  return Status::OK();
}

Result<int64_t> MemberDecoder::Decode(int64_t size, uint8_t* out) {
  if (begin_ == end_ && !is_drained_) {
    ARROW_ASSIGN_OR_RAISE(end_, stream_->Read(static_cast<int64_t>(input_.size()), input_.data()));
    begin_ = 0;
    is_drained_ = end_ == 0;
  }
  if (decompressor_->IsFinished()) {
    while (codec_.has_padding() && begin_ < end_ && input_[begin_] == 0) ++begin_;  // padding
    if (begin_ == end_ && !is_drained_) return 0;
    // Another member may follow.
    if (begin_ == end_) {
      is_ended_ = true;
      return 0;
    }
    ARROW_RETURN_NOT_OK(decompressor_->Reset());
    is_inside_ = false;
    is_first_ = false;
    head_.clear();
  }
  if (begin_ == end_ && !is_inside_) {
    is_ended_ = true;
    return 0;
  }
  if (codec_.is_zstd() && head_.size() < kMostOfZstdHeader) {
    const auto* const begin = reinterpret_cast<const char*>(input_.data());
    head_.append(begin + begin_,
                 std::min(kMostOfZstdHeader - head_.size(), static_cast<size_t>(end_ - begin_)));
    // The decoder counts windows in powers of two.
    if (const auto header = ReadZstdFrameHeader(head_); header.has_value()) {
      ARROW_RETURN_NOT_OK(CheckZstdFrame(*header, codec_.zstd_max_window()));
    }
  }
  auto done = decompressor_->Decompress(end_ - begin_, input_.data() + begin_, size, out);
  if (!done.ok()) {
    if (done.status().IsOutOfMemory() || done.status().IsInvalid()) return done.status();
    return Broken(std::string("is damaged") +
                  (is_first_ ? "" : ", or something follows its compressed data") + " (" +
                  done.status().message() + ")");
  }
  if (done->bytes_read > 0) is_inside_ = true;
  begin_ += done->bytes_read;
  if (done->bytes_read == 0 && done->bytes_written == 0 && !decompressor_->IsFinished()) {
    if (is_drained_) return Broken("ends in the middle: it was cut short");
    if (begin_ < end_ && !done->need_more_output) return Broken("is damaged");
  }
  return done->bytes_written;
}

}  // namespace easydata::files
