#include "easydata/io/compression.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "easydata/base/hash.h"
#include "easydata/io/file_stream.h"
#include "easydata/io/file_system.h"
#include "easydata/io/positioned_file.h"

namespace easydata::io {
namespace {

using arrow::Compression;

struct Suffix {
  std::string_view suffix;
  Compression::type codec;
};
constexpr std::array<Suffix, 5> kSuffixes{{{".gz", Compression::GZIP},
                                           {".zst", Compression::ZSTD},
                                           {".zstd", Compression::ZSTD},
                                           {".bz2", Compression::BZ2},
                                           {".lz4", Compression::LZ4_FRAME}}};

std::string Lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return out;
}

bool StartsWith(std::string_view bytes, std::string_view magic) {
  return bytes.substr(0, magic.size()) == magic;
}

Compression::type CodecOfBytes(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (StartsWith(bytes, "\x1f\x8b\x08"sv)) return Compression::GZIP;
  if (StartsWith(bytes, "\x28\xb5\x2f\xfd"sv)) return Compression::ZSTD;
  if (StartsWith(bytes, "\x04\x22\x4d\x18"sv)) return Compression::LZ4_FRAME;
  // "BZh", the block size, and the digits of pi (or of its root, for an empty file).
  if (StartsWith(bytes, "BZh"sv) && bytes.size() >= 10 && bytes[3] >= '1' && bytes[3] <= '9' &&
      (bytes.substr(4, 6) == "1AY&SY"sv || bytes.substr(4, 6) == "\x17\x72\x45\x38\x50\x90"sv)) {
    return Compression::BZ2;
  }
  return Compression::UNCOMPRESSED;
}

/// Whether a frame without data starts here; zstd and lz4 share their magic numbers.
bool IsSkippable(std::string_view bytes) {
  using namespace std::string_view_literals;
  return bytes.size() >= 8 && (static_cast<uint8_t>(bytes[0]) & 0xf0) == 0x50 &&
         bytes.substr(1, 3) == "\x2a\x4d\x18"sv;
}

/// The codec by the first frame that has data. Where no frame has any, all codecs that know such
/// frames agree: it is nothing.
Result<Compression::type> CodecOf(arrow::io::RandomAccessFile* file, bool* is_empty) {
  char bytes[16];
  for (int64_t at = 0;;) {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, file->ReadAt(at, sizeof(bytes), bytes));
    const std::string_view head(bytes, static_cast<size_t>(read));
    *is_empty = read == 0 && at == 0;
    if (!IsSkippable(head)) {
      return read == 0 && at > 0 ? Compression::ZSTD : CodecOfBytes(head);
    }
    uint32_t size = 0;
    for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<uint8_t>(bytes[4 + i]);
    at += 8 + static_cast<int64_t>(size);
  }
}

Status Broken(const std::string& how) {
  return Status::IOError("the compressed file ", how, "; get it again, or take it out");
}

/// The hash of bytes that come in pieces, whatever these are.
class RunningHash {
 public:
  void Add(std::string_view bytes) {
    while (!bytes.empty()) {
      const size_t taken = std::min(bytes.size(), kBlock - held_.size());
      held_.append(bytes.substr(0, taken));
      bytes.remove_prefix(taken);
      if (held_.size() < kBlock) return;
      hash_ = Hash64(held_, hash_);
      held_.clear();
    }
  }
  uint64_t Get() const { return Hash64(held_, hash_); }

 private:
  static constexpr size_t kBlock = 64 << 10;
  std::string held_;
  uint64_t hash_ = 0;
};

/// Unlike arrow::io::CompressedInputStream it hands out all that can be decoded before an error. A
/// file on another machine that turns out to be damaged is read once more from its start: it goes
/// on where what comes then is, up to there, what was handed out.
class DecompressedStream : public arrow::io::InputStream {
 public:
  DecompressedStream(std::shared_ptr<arrow::io::RandomAccessFile> whole,
                     std::shared_ptr<arrow::util::Codec> codec)
      : is_gzip_(codec->compression_type() == Compression::GZIP),
        whole_(std::move(whole)),
        codec_(std::move(codec)),
        input_(256 << 10) {}

  /// Goes to the file's start.
  Status Start() {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, whole_->GetSize());
    file_ = std::make_shared<FileStream>(whole_, size);
    ARROW_ASSIGN_OR_RAISE(decompressor_, codec_->MakeDecompressor());
    begin_ = end_ = 0;
    drained_ = inside_ = ended_ = false;
    first_ = true;
    return Status::OK();
  }

  Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }
  Result<int64_t> Tell() const override { return place_; }

  /// Gives fewer bytes than asked for at the end and before an error only.
  Result<int64_t> Read(int64_t size, void* out) override {
    auto* bytes = static_cast<uint8_t*>(out);
    int64_t got = 0;
    while (got < size && status_.ok() && !ended_) {
      auto step = Step(size - got, bytes + got);
      if (step.ok()) {
        got += *step;
        continue;
      }
      status_ = step.status();
      if (!MayReadAgain()) break;
      status_ = ReadAgain();
      got = 0;
    }
    if (got == 0 && size > 0) ARROW_RETURN_NOT_OK(status_);
    handed_out_.Add({static_cast<const char*>(out), static_cast<size_t>(got)});
    place_ += got;
    return got;
  }

  Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
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

 private:
  bool MayReadAgain() {
    const bool is_damage =
        !IsFileError(status_) && !status_.IsOutOfMemory() && !status_.IsCancelled();
    return is_damage && !std::exchange(is_second_, true) && IsWorthReadingAgain(whole_.get());
  }

  /// Reads from the start up to what was handed out.
  Status ReadAgain() {
    ARROW_RETURN_NOT_OK(Start());
    RunningHash again;
    std::vector<uint8_t> bytes(256 << 10);
    for (int64_t left = place_; left > 0 && !ended_;) {
      ARROW_ASSIGN_OR_RAISE(const int64_t got,
                            Step(std::min<int64_t>(left, bytes.size()), bytes.data()));
      again.Add({reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(got)});
      left -= got;
    }
    if (again.Get() == handed_out_.Get()) return Status::OK();
    return Status::IOError(
        "the compressed file came damaged, and is another one when it is read again: what was "
        "taken of it before is wrong; go on from a state that was saved before this file, or start "
        "anew");
  }

  Result<int64_t> Step(int64_t size, uint8_t* out) {
    if (begin_ == end_ && !drained_) {
      ARROW_ASSIGN_OR_RAISE(end_, file_->Read(static_cast<int64_t>(input_.size()), input_.data()));
      begin_ = 0;
      drained_ = end_ == 0;
    }
    if (decompressor_->IsFinished()) {
      while (is_gzip_ && begin_ < end_ && input_[begin_] == 0) ++begin_;  // padding
      if (begin_ == end_ && !drained_) return 0;
      // Another member or frame may follow.
      if (begin_ == end_) {
        ended_ = true;
        return 0;
      }
      ARROW_RETURN_NOT_OK(decompressor_->Reset());
      inside_ = false;
      first_ = false;
    }
    if (begin_ == end_ && !inside_) {
      ended_ = true;
      return 0;
    }
    auto done = decompressor_->Decompress(end_ - begin_, input_.data() + begin_, size, out);
    if (!done.ok()) {
      if (done.status().IsOutOfMemory()) return done.status();
      return Broken(std::string("is damaged") +
                    (first_ ? "" : ", or something follows its compressed data") + " (" +
                    done.status().message() + ")");
    }
    if (done->bytes_read > 0) inside_ = true;
    begin_ += done->bytes_read;
    if (done->bytes_read == 0 && done->bytes_written == 0 && !decompressor_->IsFinished()) {
      if (drained_) {
        return Broken("ends in the middle: it was cut short");
      }
      if (begin_ < end_ && !done->need_more_output) {
        return Broken("is damaged");
      }
    }
    return done->bytes_written;
  }

  const bool is_gzip_;
  const std::shared_ptr<arrow::io::RandomAccessFile> whole_;
  std::shared_ptr<FileStream> file_;
  const std::shared_ptr<arrow::util::Codec> codec_;  // the decompressor may refer to it
  std::shared_ptr<arrow::util::Decompressor> decompressor_;
  std::vector<uint8_t> input_;
  int64_t begin_ = 0, end_ = 0;
  int64_t place_ = 0;
  bool drained_ = false;  // the file has no more
  bool inside_ = false;   // a member or frame was begun and not ended
  bool first_ = true;     // no member or frame was ended
  bool ended_ = false;
  bool is_second_ = false;  // read once more already
  RunningHash handed_out_;
  Status status_;
};

}  // namespace

std::string UncompressedName(std::string_view path) {
  std::string name = Lower(path);
  for (const auto& [suffix, codec] : kSuffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      name.resize(name.size() - suffix.size());
      break;
    }
  }
  return name;
}

Result<Compression::type> DetectCompression(arrow::io::RandomAccessFile* file,
                                            std::string_view name) {
  bool is_empty = false;
  ARROW_ASSIGN_OR_RAISE(const auto codec, CodecOf(file, &is_empty));
  const std::string lower = Lower(name);
  for (const auto& [suffix, expected] : kSuffixes) {
    if (is_empty || codec != Compression::UNCOMPRESSED || !lower.ends_with(suffix)) continue;
    return Status::Invalid(name, ": the name ends in ", suffix,
                           " but the file does not start as such a file does; rename or repack it");
  }
  return codec;
}

Result<std::shared_ptr<arrow::io::InputStream>> ReadDecompressed(
    std::shared_ptr<arrow::io::RandomAccessFile> file, Compression::type codec) {
  if (codec == Compression::UNCOMPRESSED) {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
    return std::make_shared<FileStream>(std::move(file), size);
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::util::Codec> decoder,
                        arrow::util::Codec::Create(codec));
  auto stream = std::make_shared<DecompressedStream>(std::move(file), std::move(decoder));
  ARROW_RETURN_NOT_OK(stream->Start());
  return stream;
}

}  // namespace easydata::io
