#include "easydata/base/base64.h"

#include <cstdint>

namespace easydata {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char kUrlDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string Unpadded(std::string_view bytes, const char* digits) {
  std::string out;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) out += digits[held >> (bits - 6) & 63];
  }
  if (bits > 0) out += digits[held << (6 - bits) & 63];
  return out;
}

}  // namespace

std::string Base64(std::string_view bytes) {
  std::string out = Unpadded(bytes, kDigits);
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

std::string Base64Url(std::string_view bytes) { return Unpadded(bytes, kUrlDigits); }

}  // namespace easydata
