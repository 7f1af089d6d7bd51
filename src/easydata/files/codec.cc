#include "easydata/files/codec.h"

#include <utility>

#include "easydata/files/xz_decoder.h"
#include "easydata/files/zstd_decoder.h"

namespace easydata::files {
namespace {

/// A decompressor of Arrow's, with the codec that it may refer to.
class ArrowDecoder final : public arrow::util::Decompressor {
 public:
  ArrowDecoder(std::unique_ptr<arrow::util::Codec> codec,
               std::shared_ptr<arrow::util::Decompressor> decompressor)
      : codec_(std::move(codec)), decompressor_(std::move(decompressor)) {}

  Result<DecompressResult> Decompress(int64_t input_len, const uint8_t* input, int64_t output_len,
                                      uint8_t* output) override {
    return decompressor_->Decompress(input_len, input, output_len, output);
  }
  bool IsFinished() override { return decompressor_->IsFinished(); }
  Status Reset() override { return decompressor_->Reset(); }

 private:
  const std::unique_ptr<arrow::util::Codec> codec_;
  const std::shared_ptr<arrow::util::Decompressor> decompressor_;
};

}  // namespace

Result<std::shared_ptr<arrow::util::Decompressor>> Codec::MakeDecompressor() const {
  if (is_xz_) return MakeXzDecoder();
  // Arrow's own decoder of zstd cannot be told of larger windows.
  if (is_zstd() && zstd_max_window_ > kUsualZstdWindow) return MakeZstdDecoder(zstd_max_window_);
  ARROW_ASSIGN_OR_RAISE(auto codec, arrow::util::Codec::Create(type_));
  ARROW_ASSIGN_OR_RAISE(auto decompressor, codec->MakeDecompressor());
  return std::make_shared<ArrowDecoder>(std::move(codec), std::move(decompressor));
}

}  // namespace easydata::files
