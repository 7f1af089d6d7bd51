#include "easydata/files/compression.h"

#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>

#include <array>
#include <utility>

#include "easydata/base/lower_case.h"
#include "easydata/files/address.h"
#include "easydata/files/decompressed_stream.h"
#include "easydata/files/file_stream.h"

namespace easydata::files {
namespace {

using arrow::Compression;

constexpr std::array<std::string_view, 6> kSuffixes = {".gz",  ".zst", ".zstd",
                                                       ".bz2", ".lz4", ".xz"};

bool StartsWith(std::string_view bytes, std::string_view magic) {
  return bytes.substr(0, magic.size()) == magic;
}

Codec CodecOfBytes(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (StartsWith(bytes, "\x1f\x8b\x08"sv)) return Compression::GZIP;
  if (StartsWith(bytes, "\x28\xb5\x2f\xfd"sv)) return Compression::ZSTD;
  if (StartsWith(bytes, "\x04\x22\x4d\x18"sv)) return Compression::LZ4_FRAME;
  if (StartsWith(bytes, "\xfd\x37\x7a\x58\x5a\0"sv)) return Codec::Xz();
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
Result<Codec> CodecOf(arrow::io::RandomAccessFile* file, bool* is_empty) {
  char bytes[16];
  for (int64_t at = 0;;) {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, file->ReadAt(at, sizeof(bytes), bytes));
    const std::string_view head(bytes, static_cast<size_t>(read));
    *is_empty = read == 0 && at == 0;
    if (!IsSkippable(head)) {
      return read == 0 && at > 0 ? Codec(Compression::ZSTD) : CodecOfBytes(head);
    }
    uint32_t size = 0;
    for (int i = 3; i >= 0; --i) size = size << 8 | static_cast<uint8_t>(bytes[4 + i]);
    at += 8 + static_cast<int64_t>(size);
  }
}

}  // namespace

std::string UncompressedName(std::string_view path) {
  std::string name = LowerCase(PathOfName(path));
  for (const std::string_view suffix : kSuffixes) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      name.resize(name.size() - suffix.size());
      break;
    }
  }
  return name;
}

Result<Codec> DetectCompression(arrow::io::RandomAccessFile* file, std::string_view name) {
  bool is_empty = false;
  ARROW_ASSIGN_OR_RAISE(const auto codec, CodecOf(file, &is_empty));
  const std::string lower = LowerCase(PathOfName(name));
  for (const std::string_view suffix : kSuffixes) {
    if (is_empty || !codec.is_none() || !lower.ends_with(suffix)) continue;
    return Status::Invalid(name, ": the name ends in ", suffix,
                           " but the file does not start as such a file does; rename or repack it");
  }
  return codec;
}

Result<Codec> DetectCompression(arrow::io::RandomAccessFile* file, const FileInfo& info) {
  ARROW_ASSIGN_OR_RAISE(Codec codec, DetectCompression(file, info.uri));
  if (info.zstd_max_window > 0) codec.set_zstd_max_window(info.zstd_max_window);
  return codec;
}

Result<std::shared_ptr<arrow::io::InputStream>> ReadDecompressed(
    std::shared_ptr<arrow::io::RandomAccessFile> file, const Codec& codec, MemberCheck check) {
  if (codec.is_none()) {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
    return std::make_shared<FileStream>(std::move(file), size);
  }
  return DecompressedStream::Open(std::move(file), codec, check);
}

int64_t FilePosition(const arrow::io::InputStream& stream) {
  const auto* compressed = dynamic_cast<const DecompressedStream*>(&stream);
  return (compressed != nullptr ? compressed->FilePosition() : stream.Tell()).ValueOr(-1);
}

}  // namespace easydata::files
