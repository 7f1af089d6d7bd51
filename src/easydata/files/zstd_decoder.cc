#include "easydata/files/zstd_decoder.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "easydata/exec/loaded_library.h"

namespace easydata::files {
namespace {

/// ZSTD_outBuffer and ZSTD_inBuffer of libzstd 1, whose header need not be there to build.
struct ZstdOutput {
  void* data;
  size_t size;
  size_t at;
};
struct ZstdInput {
  const void* data;
  size_t size;
  size_t at;
};

struct ZstdLibrary {
  void* (*create)() = nullptr;
  size_t (*free)(void* stream) = nullptr;
  size_t (*set)(void* stream, int parameter, int value) = nullptr;
  size_t (*reset)(void* stream, int what) = nullptr;
  size_t (*decompress)(void* stream, ZstdOutput* out, ZstdInput* in) = nullptr;
  unsigned (*is_error)(size_t result) = nullptr;
  const char* (*error_name)(size_t result) = nullptr;
};

constexpr int kWindowLogMax = 100;  // ZSTD_d_windowLogMax
constexpr int kSessionOnly = 1;     // ZSTD_reset_session_only
constexpr int kLeastLog = 10;       // ZSTD_WINDOWLOG_ABSOLUTEMIN
constexpr int kMostLog = 31;        // ZSTD_WINDOWLOG_MAX where pointers have 64 bits

Result<ZstdLibrary> LoadZstd() {
  constexpr const char* kNames[] = {"libzstd.so.1"};
  exec::LoadedLibrary library(kNames);
  ZstdLibrary zstd;
  library.Find("ZSTD_createDStream", &zstd.create);
  library.Find("ZSTD_freeDStream", &zstd.free);
  library.Find("ZSTD_DCtx_setParameter", &zstd.set);
  library.Find("ZSTD_DCtx_reset", &zstd.reset);
  library.Find("ZSTD_decompressStream", &zstd.decompress);
  library.Find("ZSTD_isError", &zstd.is_error);
  library.Find("ZSTD_getErrorName", &zstd.error_name);
  if (library.problem().empty()) return zstd;
  return Status::NotImplemented(
      "zstd_max_window above 128 MiB needs libzstd 1.4 or newer (Debian: apt install libzstd1): ",
      library.problem());
}

class ZstdDecoder final : public arrow::util::Decompressor {
 public:
  explicit ZstdDecoder(const ZstdLibrary& zstd) : zstd_(zstd), stream_(zstd.create()) {}
  ~ZstdDecoder() override { zstd_.free(stream_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  Status Allow(int64_t max_window) {
    if (stream_ == nullptr) return Status::OutOfMemory("no memory is left to decompress zstd");
    const auto log = static_cast<int>(std::bit_width(static_cast<uint64_t>(max_window - 1)));
    return Checked(zstd_.set(stream_, kWindowLogMax, std::clamp(log, kLeastLog, kMostLog)));
  }

  Status Reset() override {
    is_finished_ = false;
    return Checked(zstd_.reset(stream_, kSessionOnly));
  }

  bool IsFinished() override { return is_finished_; }

  Result<DecompressResult> Decompress(int64_t input_len, const uint8_t* input, int64_t output_len,
                                      uint8_t* output) override {
    ZstdInput in{input, static_cast<size_t>(input_len), 0};
    ZstdOutput out{output, static_cast<size_t>(output_len), 0};
    const size_t result = zstd_.decompress(stream_, &out, &in);
    ARROW_RETURN_NOT_OK(Checked(result));
    is_finished_ = result == 0;
    return DecompressResult{static_cast<int64_t>(in.at), static_cast<int64_t>(out.at),
                            in.at == 0 && out.at == 0 && output_len == 0};
  }

 private:
  Status Checked(size_t result) const {
    if (zstd_.is_error(result) == 0) return Status::OK();
    return Status::IOError("ZSTD decompress failed: ", zstd_.error_name(result));
  }

  const ZstdLibrary zstd_;
  void* const stream_;
  bool is_finished_ = false;
};

}  // namespace

Result<std::shared_ptr<arrow::util::Decompressor>> MakeZstdDecoder(int64_t max_window) {
  static const Result<ZstdLibrary> loaded = LoadZstd();
  ARROW_RETURN_NOT_OK(loaded.status());
  auto decoder = std::make_shared<ZstdDecoder>(*loaded);
  ARROW_RETURN_NOT_OK(decoder->Allow(max_window));
  return decoder;
}

}  // namespace easydata::files
