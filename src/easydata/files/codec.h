#pragma once

#include <arrow/util/compression.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "easydata/base/status.h"

namespace easydata::files {

/// What zstd's decoder keeps at most of what was decompressed, unless it is told otherwise: its
/// ZSTD_WINDOWLOG_LIMIT_DEFAULT.
inline constexpr int64_t kUsualZstdWindow = int64_t{1} << 27;

/// How a file is compressed.
class Codec {
 public:
  /// Not at all.
  Codec() = default;
  /// By one of Arrow's codecs; UNCOMPRESSED: not at all.
  Codec(arrow::Compression::type type) : type_(type) {}  // NOLINT(google-explicit-constructor)
  static Codec Xz() {
    Codec out;
    out.is_xz_ = true;
    return out;
  }

  bool is_none() const { return !is_xz_ && type_ == arrow::Compression::UNCOMPRESSED; }
  bool is_zstd() const { return type_ == arrow::Compression::ZSTD; }
  /// Whether zeros may follow a member.
  bool has_padding() const { return is_xz_ || type_ == arrow::Compression::GZIP; }

  /// zstd: frames with larger windows are refused.
  int64_t zstd_max_window() const { return zstd_max_window_; }
  void set_zstd_max_window(int64_t bytes) { zstd_max_window_ = bytes; }

  /// Makes what decodes one member (frame, stream) after the other.
  Result<std::shared_ptr<arrow::util::Decompressor>> MakeDecompressor() const;

  bool operator==(const Codec& other) const {
    return type_ == other.type_ && is_xz_ == other.is_xz_;
  }

 private:
  arrow::Compression::type type_ = arrow::Compression::UNCOMPRESSED;
  bool is_xz_ = false;
  int64_t zstd_max_window_ = kUsualZstdWindow;
};

}  // namespace easydata::files
