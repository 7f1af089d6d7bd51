#include "easydata/cache/part_compression.h"

#include <arrow/buffer.h>
#include <arrow/util/compression.h>

#include <array>

namespace easydata::cache {
namespace {

constexpr int64_t kMostCompressed = int64_t{1} << 30;  // zlib counts in 32 bits

/// One a thread.
Result<arrow::util::Codec*> CodecOf(Compression compression) {
  static thread_local std::array<std::unique_ptr<arrow::util::Codec>, 4> known;
  auto& codec = known[static_cast<size_t>(compression)];
  if (codec == nullptr) {
    switch (compression) {
      case Compression::kGzip: {
        ARROW_ASSIGN_OR_RAISE(codec, arrow::util::Codec::Create(arrow::Compression::GZIP, 6));
        break;
      }
      case Compression::kLz4: {
        ARROW_ASSIGN_OR_RAISE(codec, arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME));
        break;
      }
      default: {
        ARROW_ASSIGN_OR_RAISE(codec, arrow::util::Codec::Create(arrow::Compression::ZSTD, 1));
      }
    }
  }
  return codec.get();
}

}  // namespace

Result<std::shared_ptr<arrow::Buffer>> CompressPart(Compression compression, const uint8_t* bytes,
                                                    int64_t size) {
  if (compression == Compression::kNone || size == 0 || size > kMostCompressed) return nullptr;
  ARROW_ASSIGN_OR_RAISE(arrow::util::Codec * codec, CodecOf(compression));
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> out,
                        arrow::AllocateResizableBuffer(codec->MaxCompressedLen(size, bytes)));
  ARROW_ASSIGN_OR_RAISE(const int64_t packed,
                        codec->Compress(size, bytes, out->size(), out->mutable_data()));
  if (packed >= size) return nullptr;
  ARROW_RETURN_NOT_OK(out->Resize(packed, false));
  return out;
}

Status DecompressPart(Compression compression, const uint8_t* bytes, int64_t size, int64_t raw_size,
                      uint8_t* to) {
  ARROW_ASSIGN_OR_RAISE(arrow::util::Codec * codec, CodecOf(compression));
  const auto got = codec->Decompress(size, bytes, raw_size, to);
  if (!got.ok()) return Status::Invalid("it cannot be decompressed: ", got.status().message());
  if (*got == raw_size) return Status::OK();
  return Status::Invalid("it has ", *got, " bytes decompressed in place of ", raw_size);
}

}  // namespace easydata::cache
