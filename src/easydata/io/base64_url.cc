#include "easydata/io/base64_url.h"

#include <cstdint>

namespace easydata::io {
namespace {

constexpr char kBase64Digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string Base64Url(std::string_view bytes) {
  std::string out;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) out += kBase64Digits[held >> (bits - 6) & 63];
  }
  if (bits > 0) out += kBase64Digits[held << (6 - bits) & 63];
  return out;
}

}  // namespace easydata::io
