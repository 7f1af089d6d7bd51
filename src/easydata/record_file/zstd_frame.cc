#include "easydata/record_file/zstd_frame.h"

#include <arrow/util/compression.h>

#include <memory>

namespace easydata::record_file {

Status DecompressZstd(std::string_view packed, std::span<uint8_t> out) {
  static thread_local std::unique_ptr<arrow::util::Codec> codec;
  static thread_local std::shared_ptr<arrow::util::Decompressor> decompressor;
  if (decompressor == nullptr) {
    ARROW_ASSIGN_OR_RAISE(codec, arrow::util::Codec::Create(arrow::Compression::ZSTD));
    ARROW_ASSIGN_OR_RAISE(decompressor, codec->MakeDecompressor());
  } else {
    ARROW_RETURN_NOT_OK(decompressor->Reset());
  }
  size_t got = 0;
  while (!decompressor->IsFinished()) {
    ARROW_ASSIGN_OR_RAISE(
        const auto done,
        decompressor->Decompress(static_cast<int64_t>(packed.size()),
                                 reinterpret_cast<const uint8_t*>(packed.data()),
                                 static_cast<int64_t>(out.size() - got), out.data() + got));
    packed.remove_prefix(static_cast<size_t>(done.bytes_read));
    got += static_cast<size_t>(done.bytes_written);
    if (done.bytes_read == 0 && done.bytes_written == 0 && !decompressor->IsFinished()) break;
  }
  if (!decompressor->IsFinished() || got != out.size() || !packed.empty()) {
    return Status::Invalid("it has ", got, " bytes decompressed, where it says ", out.size());
  }
  return Status::OK();
}

// RFC 8878, 3.1.1
std::string_view StoredInZstd(std::string_view packed) {
  constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";
  constexpr unsigned kSingleSegment = 0x20;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(packed[i]); };
  if (packed.size() < 9 || !packed.starts_with(kMagic)) return {};
  const unsigned descriptor = byte(4);
  // One byte follows: the content's size, or that of the window.
  if ((descriptor & ~kSingleSegment) != 0) return {};
  const unsigned block = byte(6) | byte(7) << 8 | byte(8) << 16;
  constexpr unsigned kLastRaw = 1;
  const std::string_view content = packed.substr(9);
  if ((block & 7) != kLastRaw || block >> 3 != content.size()) return {};
  // zstd refuses windows of more than 128 MB: their exponent is 17.
  const bool is_sound =
      descriptor == kSingleSegment ? byte(5) == content.size() : byte(5) >> 3 < 17;
  if (!is_sound) return {};
  return content;
}

}  // namespace easydata::record_file
