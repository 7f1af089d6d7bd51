#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/files/codec.h"
#include "easydata/files/file_stream.h"

namespace easydata::files {

/// Decodes the members (frames, streams) of a compressed file, one after the other.
/// Thread-compatible.
class MemberDecoder {
 public:
  MemberDecoder(std::shared_ptr<arrow::io::RandomAccessFile> file, const Codec& codec)
      : codec_(codec), file_(std::move(file)), input_(256 << 10) {}

  /// Goes to the file's start.
  Status Start();

  /// Decodes up to `size` bytes to `out`; how many there were, which may be none before the end.
  /// IOError where the file is damaged or cut short, Invalid where it is a sound one that
  /// needs more: a larger window, or a dictionary.
  Result<int64_t> Decode(int64_t size, uint8_t* out);

  /// Whether the file has no more.
  bool is_ended() const { return is_ended_; }
  /// Whether all that was decoded belongs to members that were decoded, and checked, to their ends.
  bool is_between_members() const { return decompressor_->IsFinished(); }

  /// Bytes of the file that were decoded.
  Result<int64_t> FilePosition() const {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, stream_->Tell());
    return read - (end_ - begin_);
  }

  Status Close() { return stream_->Close(); }
  bool closed() const { return stream_->closed(); }

 private:
  const Codec codec_;
  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<FileStream> stream_;
  std::shared_ptr<arrow::util::Decompressor> decompressor_;
  std::vector<uint8_t> input_;
  int64_t begin_ = 0, end_ = 0;
  std::string head_;         // of a zstd frame: its header, for errors
  bool is_drained_ = false;  // the file has no more
  bool is_inside_ = false;   // a member was begun and not ended
  bool is_first_ = true;     // no member was ended
  bool is_ended_ = false;
};

}  // namespace easydata::files
