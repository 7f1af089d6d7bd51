#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace easydata::files {

/// The longest header of a zstd frame, its magic number included.
inline constexpr size_t kMostOfZstdHeader = 18;

/// What the header of a zstd frame says that decides whether it can be decompressed.
struct ZstdFrameHeader {
  uint64_t window = 0;      // bytes of what was decompressed that its decoder must keep
  uint32_t dictionary = 0;  // the number of the dictionary it needs; 0: none
};

/// Reads the header that a frame begins with. Nothing where that is cut short, or is another one
/// (a frame without data, too).
std::optional<ZstdFrameHeader> ReadZstdFrameHeader(std::string_view frame);

}  // namespace easydata::files
