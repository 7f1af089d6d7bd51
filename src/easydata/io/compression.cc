#include "easydata/io/compression.h"

#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "easydata/io/local_file.h"

namespace easydata {
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
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
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

Result<Compression::type> DetectCompression(const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto file, OpenLocalFile(path));
  char bytes[16];
  ARROW_ASSIGN_OR_RAISE(const int64_t read, file->ReadAt(0, sizeof(bytes), bytes));
  const Compression::type codec = CodecOfBytes({bytes, static_cast<size_t>(read)});
  if (read == 0 || codec != Compression::UNCOMPRESSED) return codec;
  const std::string name = Lower(path);
  for (const auto& [suffix, expected] : kSuffixes) {
    if (name.ends_with(suffix)) {
      return Status::Invalid(path, ": the name ends in ", suffix,
                             " but the file does not start as such a file does; rename or repack it");
    }
  }
  return codec;
}

Result<std::shared_ptr<arrow::io::InputStream>> OpenDecompressed(const std::string& path,
                                                                 Compression::type codec) {
  ARROW_ASSIGN_OR_RAISE(auto file, OpenLocalFile(path));
  if (codec == Compression::UNCOMPRESSED) return file;
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::util::Codec> decoder,
                        arrow::util::Codec::Create(codec));
  // CompressedInputStream keeps no reference to the codec.
  ARROW_ASSIGN_OR_RAISE(auto stream, arrow::io::CompressedInputStream::Make(decoder.get(), file));
  struct Both {
    std::shared_ptr<arrow::util::Codec> codec;
    std::shared_ptr<arrow::io::InputStream> stream;
  };
  auto both = std::make_shared<Both>(Both{std::move(decoder), std::move(stream)});
  return std::shared_ptr<arrow::io::InputStream>(both, both->stream.get());
}

}  // namespace easydata
