#include "easydata/files/zstd_frame_header.h"

namespace easydata::files {
namespace {

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t out = 0;
  for (size_t i = bytes.size(); i > 0; --i) out = out << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return out;
}

}  // namespace

// RFC 8878, 3.1.1.1
std::optional<ZstdFrameHeader> ReadZstdFrameHeader(std::string_view frame) {
  constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";
  if (frame.size() <= kMagic.size() || !frame.starts_with(kMagic)) return std::nullopt;
  frame.remove_prefix(kMagic.size());
  const auto descriptor = static_cast<uint8_t>(frame[0]);
  const bool is_single_segment = (descriptor & 0x20) != 0;
  constexpr size_t kSizesOfNumber[] = {0, 1, 2, 4};
  const size_t window_size = is_single_segment ? 0 : 1;
  const size_t number_size = kSizesOfNumber[descriptor & 3];
  const size_t flag = descriptor >> 6;
  const size_t content_size = flag == 0 ? (is_single_segment ? 1 : 0) : size_t{1} << flag;
  if (frame.size() < 1 + window_size + number_size + content_size) return std::nullopt;
  ZstdFrameHeader header;
  if (is_single_segment) {
    header.window = LittleEndian(frame.substr(1 + number_size, content_size));
    if (flag == 1) header.window += 256;
  } else {
    const auto window = static_cast<uint8_t>(frame[1]);
    const uint64_t base = uint64_t{1} << (10 + (window >> 3));
    header.window = base + base / 8 * (window & 7);
  }
  header.dictionary =
      static_cast<uint32_t>(LittleEndian(frame.substr(1 + window_size, number_size)));
  return header;
}

}  // namespace easydata::files
