#include "easydata/io/base64_url.h"

#include <cstdint>

namespace easydata::io {
namespace {

constexpr char kUrlDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string Base64Url(std::string_view bytes) {
  std::string out;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) out += kUrlDigits[held >> (bits - 6) & 63];
  }
  if (bits > 0) out += kUrlDigits[held << (6 - bits) & 63];
  return out;
}

}  // namespace easydata::io
