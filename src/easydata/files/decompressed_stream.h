#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "easydata/base/status.h"
#include "easydata/files/codec.h"
#include "easydata/files/held_bytes.h"
#include "easydata/files/member_decoder.h"

namespace easydata::files {

/// The hash of bytes that come in pieces, whatever these are.
class RunningHash {
 public:
  void Add(std::string_view bytes);
  uint64_t Get() const;

 private:
  std::string held_;
  uint64_t hash_ = 0;
};

/// When the checksum of a member is compared. Those who look at a file's beginning only do not read
/// what follows it.
enum class MemberCheck { kBeforeUse, kAtEnd };

/// The content of a compressed file, from its start. Thread-compatible.
///
/// Unlike arrow::io::CompressedInputStream it hands out all that can be decoded before an error.
///
/// What is damaged in a file of another machine may have come on the way: the file is read once
/// more from its start. The checksum of a member stands at its end, so a member is held back until
/// it was checked, up to `HeldBytes::kMost` of it. Of larger ones parts are handed out before. It
/// goes on, then, where what comes the second time is, up to there, what was handed out; otherwise
/// it is an error that says so.
class DecompressedStream final : public arrow::io::InputStream {
 public:
  static Result<std::shared_ptr<DecompressedStream>> Open(
      std::shared_ptr<arrow::io::RandomAccessFile> file, const Codec& codec, MemberCheck check);

  Status Close() override { return decoder_.Close(); }
  bool closed() const override { return decoder_.closed(); }
  Result<int64_t> Tell() const override { return position_; }
  /// Bytes of the compressed file that were read, up to what may be held.
  Result<int64_t> FilePosition() const { return decoder_.FilePosition(); }

  /// Gives fewer bytes than asked for at the end and before an error only.
  Result<int64_t> Read(int64_t size, void* out) override;
  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override;

 private:
  DecompressedStream(std::shared_ptr<arrow::io::RandomAccessFile> file, const Codec& codec,
                     MemberCheck check);

  /// Reads what is next of the member, or holds it.
  Result<int64_t> Next(int64_t size, uint8_t* out);
  /// Holds the member up to its end, or as much of it as may be held.
  Status Hold();
  bool MayReadAgain();
  /// Reads from the start up to what was handed out.
  Status ReadAgain();

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  MemberDecoder decoder_;
  HeldBytes held_;
  bool holds_;              // for a checksum; not when the file is read for the second time
  bool is_passed_ = false;  // parts of the member were handed out: it is too large
  bool is_second_ = false;  // read once more already
  RunningHash handed_out_;
  int64_t position_ = 0;
  Status status_;
};

}  // namespace easydata::files
