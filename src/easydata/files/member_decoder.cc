#include "easydata/files/member_decoder.h"

#include <string>
#include <utility>

namespace easydata::files {
namespace {

Status Broken(const std::string& how) {
  return Status::IOError("the compressed file ", how, "; get it again, or take it out");
}

}  // namespace

MemberDecoder::MemberDecoder(std::shared_ptr<arrow::io::RandomAccessFile> file,
                             std::shared_ptr<arrow::util::Codec> codec)
    : is_gzip_(codec->compression_type() == arrow::Compression::GZIP),
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
  }
  if (begin_ == end_ && !is_inside_) {
    is_ended_ = true;
    return 0;
  }
  auto done = decompressor_->Decompress(end_ - begin_, input_.data() + begin_, size, out);
  if (!done.ok()) {
    if (done.status().IsOutOfMemory()) return done.status();
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
