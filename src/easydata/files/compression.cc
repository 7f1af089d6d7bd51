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

struct Suffix {
  std::string_view suffix;
  Compression::type codec;
};
constexpr std::array<Suffix, 5> kSuffixes{{{".gz", Compression::GZIP},
                                           {".zst", Compression::ZSTD},
                                           {".zstd", Compression::ZSTD},
                                           {".bz2", Compression::BZ2},
                                           {".lz4", Compression::LZ4_FRAME}}};

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

}  // namespace

std::string UncompressedName(std::string_view path) {
  std::string name = LowerCase(PathOfName(path));
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
  const std::string lower = LowerCase(PathOfName(name));
  for (const auto& [suffix, expected] : kSuffixes) {
    if (is_empty || codec != Compression::UNCOMPRESSED || !lower.ends_with(suffix)) continue;
    return Status::Invalid(name, ": the name ends in ", suffix,
                           " but the file does not start as such a file does; rename or repack it");
  }
  return codec;
}

Result<std::shared_ptr<arrow::io::InputStream>> ReadDecompressed(
    std::shared_ptr<arrow::io::RandomAccessFile> file, Compression::type codec, MemberCheck check) {
  if (codec == Compression::UNCOMPRESSED) {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file->GetSize());
    return std::make_shared<FileStream>(std::move(file), size);
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::util::Codec> decoder,
                        arrow::util::Codec::Create(codec));
  return DecompressedStream::Open(std::move(file), std::move(decoder), check);
}

}  // namespace easydata::files
