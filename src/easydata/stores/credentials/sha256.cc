#include "easydata/stores/credentials/sha256.h"

#include <algorithm>
#include <cstring>

#include "easydata/stores/credentials/sha256_blocks.h"

namespace easydata::credentials {
namespace {

constexpr size_t kShaBlock = 64;  // bytes

class Sha256State {
 public:
  void Update(std::string_view bytes) {
    size_ += bytes.size();
    if (held_ > 0) {
      const size_t taken = std::min(kShaBlock - held_, bytes.size());
      std::memcpy(block_ + held_, bytes.data(), taken);
      held_ += taken;
      bytes.remove_prefix(taken);
      if (held_ < kShaBlock) return;
      Compress(block_, 1);
      held_ = 0;
    }
    const size_t blocks = bytes.size() / kShaBlock;
    Compress(reinterpret_cast<const uint8_t*>(bytes.data()), blocks);
    bytes.remove_prefix(blocks * kShaBlock);
    if (!bytes.empty()) std::memcpy(block_, bytes.data(), bytes.size());
    held_ = bytes.size();
  }

  Sha256Digest Finish() {
    const uint64_t bits = size_ * 8;
    uint8_t end[kShaBlock + 8] = {0x80};
    const size_t zeros = (held_ < 56 ? 56 : 120) - held_;
    for (int i = 0; i < 8; ++i) end[zeros + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
    Update({reinterpret_cast<const char*>(end), zeros + 8});
    Sha256Digest digest;
    for (size_t i = 0; i < digest.size(); ++i) {
      digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    }
    return digest;
  }

 private:
  void Compress(const uint8_t* blocks, size_t count) {
    static const Sha256Blocks best = BestSha256Blocks();
    best(blocks, count, state_.data());
  }

  // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t block_[kShaBlock];
  size_t held_ = 0;
  uint64_t size_ = 0;
};

}  // namespace

Sha256Digest Sha256(std::string_view bytes) {
  Sha256State state;
  state.Update(bytes);
  return state.Finish();
}

Sha256Digest HmacSha256(std::string_view key, std::string_view bytes) {
  char padded[kShaBlock] = {};
  if (key.size() > kShaBlock) {
    const Sha256Digest digest = Sha256(key);
    std::memcpy(padded, digest.data(), digest.size());
  } else {
    std::memcpy(padded, key.data(), key.size());
  }
  char inner[kShaBlock];
  char outer[kShaBlock];
  for (size_t i = 0; i < kShaBlock; ++i) {
    inner[i] = static_cast<char>(padded[i] ^ 0x36);
    outer[i] = static_cast<char>(padded[i] ^ 0x5c);
  }
  Sha256State first;
  first.Update({inner, kShaBlock});
  first.Update(bytes);
  const Sha256Digest digest = first.Finish();
  Sha256State second;
  second.Update({outer, kShaBlock});
  second.Update(BytesOf(digest));
  return second.Finish();
}

std::string ToHex(const Sha256Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace easydata::credentials
