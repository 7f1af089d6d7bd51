#include "easydata/files/member_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "easydata/files/zstd_frame_header.h"

namespace easydata::files {
namespace {

/// What zstd's decoder keeps at most of what was decompressed: its ZSTD_WINDOWLOG_LIMIT_DEFAULT.
constexpr uint64_t kMostOfZstdWindow = uint64_t{1} << 27;

Status Broken(const std::string& how) {
  return Status::IOError("the compressed file ", how, "; get it again, or take it out");
}

/// Why a sound frame of zstd cannot be decompressed; OK where its header says nothing of the kind.
Status CheckZstdFrame(std::string_view head) {
  const auto header = ReadZstdFrameHeader(head);
  if (!header.has_value()) return Status::OK();
  if (header->dictionary != 0) {
    return Status::Invalid(
        "the zstd file needs dictionary ", header->dictionary,
        ", with which it was compressed; decompress it with that, and compress it again without");
  }
  if (header->window <= kMostOfZstdWindow) return Status::OK();
  const uint64_t mebibytes = (header->window + (1 << 20) - 1) >> 20;
  return Status::Invalid(
      "the zstd file was compressed with a window of ", mebibytes, " MiB (--long or --ultra), and ",
      kMostOfZstdWindow >> 20,
      " MiB are the most that can be read; compress it again with a smaller one (`zstd -dc "
      "--long=31 FILE | zstd -o NEW`)");
}

}  // namespace

MemberDecoder::MemberDecoder(std::shared_ptr<arrow::io::RandomAccessFile> file,
                             std::shared_ptr<arrow::util::Codec> codec)
    : is_gzip_(codec->compression_type() == arrow::Compression::GZIP),
      is_zstd_(codec->compression_type() == arrow::Compression::ZSTD),
      file_(std::move(file)),
      codec_(std::move(codec)),
      input_(256 << 10) {}

Status MemberDecoder::Start() {
  ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
  stream_ = std::make_shared<FileStream>(file_, size);
  ARROW_ASSIGN_OR_RAISE(decompressor_, codec_->MakeDecompressor());
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
    while (is_gzip_ && begin_ < end_ && input_[begin_] == 0) ++begin_;  // padding
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
  if (is_zstd_ && head_.size() < kMostOfZstdHeader) {
    const auto* const begin = reinterpret_cast<const char*>(input_.data());
    head_.append(begin + begin_,
                 std::min(kMostOfZstdHeader - head_.size(), static_cast<size_t>(end_ - begin_)));
  }
  auto done = decompressor_->Decompress(end_ - begin_, input_.data() + begin_, size, out);
  if (!done.ok()) {
    if (done.status().IsOutOfMemory()) return done.status();
    ARROW_RETURN_NOT_OK(CheckZstdFrame(head_));
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
