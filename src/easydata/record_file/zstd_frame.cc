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

}  // namespace easydata::record_file
