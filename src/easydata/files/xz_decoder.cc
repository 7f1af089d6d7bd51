#include "easydata/files/xz_decoder.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "easydata/exec/loaded_library.h"

namespace easydata::files {
namespace {

/// lzma_stream of liblzma 5, whose layout is fixed; its header need not be there to build.
struct XzStream {
  const uint8_t* next_in = nullptr;
  size_t avail_in = 0;
  uint64_t total_in = 0;
  uint8_t* next_out = nullptr;
  size_t avail_out = 0;
  uint64_t total_out = 0;
  const void* allocator = nullptr;
  void* internal = nullptr;
  void* reserved_pointers[4] = {};
  uint64_t seek_pos = 0;
  uint64_t reserved_number = 0;
  size_t reserved_sizes[2] = {};
  int reserved_enums[2] = {};
};

/// lzma_ret
enum XzResult : int {
  kXzOk = 0,
  kXzStreamEnd = 1,
  kXzUnsupportedCheck = 3,
  kXzNoMemory = 5,
  kXzMemoryLimit = 6,
  kXzBadFormat = 7,
  kXzBadOptions = 8,
  kXzBadData = 9,
  kXzNoProgress = 10,
};
constexpr int kXzRun = 0;  // lzma_action

struct XzLibrary {
  int (*stream_decoder)(XzStream* stream, uint64_t memory_limit, uint32_t flags) = nullptr;
  int (*code)(XzStream* stream, int action) = nullptr;
  void (*end)(XzStream* stream) = nullptr;
  uint64_t (*memory_usage)(const XzStream* stream) = nullptr;
};

Result<XzLibrary> LoadXz() {
  constexpr const char* kNames[] = {"liblzma.so.5"};
  exec::LoadedLibrary library(kNames);
  XzLibrary xz;
  library.Find("lzma_stream_decoder", &xz.stream_decoder);
  library.Find("lzma_code", &xz.code);
  library.Find("lzma_end", &xz.end);
  library.Find("lzma_memusage", &xz.memory_usage);
  if (library.problem().empty()) return xz;
  return Status::NotImplemented(
      "reading .xz files needs liblzma 5 (Debian: apt install liblzma5): ", library.problem());
}

/// Files that xz makes take up to 65 MB (-9); a damaged header may ask for anything.
constexpr uint64_t kMostXzMemory = uint64_t{1} << 30;

Status XzProblem(const XzLibrary& xz, const XzStream& stream, int result) {
  switch (result) {
    case kXzNoMemory:
      return Status::OutOfMemory("no memory is left to decompress xz");
    case kXzMemoryLimit:
      return Status::Invalid("the xz file needs ", (xz.memory_usage(&stream) + (1 << 20) - 1) >> 20,
                             " MiB of memory to be decompressed, and ", kMostXzMemory >> 20,
                             " MiB are the most that it may have; compress it again with a smaller "
                             "dictionary (`xz -dc FILE | xz > NEW`)");
    case kXzBadFormat:
      return Status::IOError("xz: no xz stream begins here");
    case kXzBadOptions:
    case kXzUnsupportedCheck:
      return Status::IOError("xz: options that liblzma does not know");
    case kXzBadData:
      return Status::IOError("xz: corrupt data");
    default:
      return Status::IOError("xz: error ", result);
  }
}

class XzDecoder final : public arrow::util::Decompressor {
 public:
  explicit XzDecoder(const XzLibrary& xz) : xz_(xz) {}
  ~XzDecoder() override { xz_.end(&stream_); }
  XzDecoder(const XzDecoder&) = delete;
  XzDecoder& operator=(const XzDecoder&) = delete;

  Status Reset() override {
    // Memory of the stream before is used again.
    const int result = xz_.stream_decoder(&stream_, kMostXzMemory, /*flags=*/0);
    is_finished_ = false;
    return result == kXzOk ? Status::OK() : XzProblem(xz_, stream_, result);
  }

  bool IsFinished() override { return is_finished_; }

  Result<DecompressResult> Decompress(int64_t input_len, const uint8_t* input, int64_t output_len,
                                      uint8_t* output) override {
    stream_.next_in = input;
    stream_.avail_in = static_cast<size_t>(input_len);
    stream_.next_out = output;
    stream_.avail_out = static_cast<size_t>(output_len);
    const int result = xz_.code(&stream_, kXzRun);
    if (result == kXzStreamEnd) {
      is_finished_ = true;
    } else if (result != kXzOk && result != kXzNoProgress) {
      return XzProblem(xz_, stream_, result);
    }
    const int64_t read = input_len - static_cast<int64_t>(stream_.avail_in);
    const int64_t written = output_len - static_cast<int64_t>(stream_.avail_out);
    return DecompressResult{read, written, read == 0 && written == 0 && output_len == 0};
  }

 private:
  const XzLibrary xz_;
  XzStream stream_;
  bool is_finished_ = false;
};

}  // namespace

Result<std::shared_ptr<arrow::util::Decompressor>> MakeXzDecoder() {
  static const Result<XzLibrary> loaded = LoadXz();
  ARROW_RETURN_NOT_OK(loaded.status());
  auto decoder = std::make_shared<XzDecoder>(*loaded);
  ARROW_RETURN_NOT_OK(decoder->Reset());
  return decoder;
}

}  // namespace easydata::files
