#include "easydata/stores/credentials/sha256.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "easydata/stores/credentials/sha256_blocks.h"

namespace easydata::credentials {
namespace {

std::string Digest(std::string_view bytes) { return ToHex(Sha256(bytes)); }

// https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values
TEST(Sha256Test, GivesTheValuesOfTheStandard) {
  EXPECT_EQ(Digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Digest(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// Bytes that look like nothing.
std::string ManyBytes(size_t size) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 7 + i / 256);
  return out;
}

// Computed by hashlib of Python: the digest of all digests.
TEST(Sha256Test, AgreesWithHashlibOnEveryLength) {
  const std::string bytes = ManyBytes(300);
  std::string all;
  for (size_t size = 0; size <= bytes.size(); ++size) all += Digest(bytes.substr(0, size));
  EXPECT_EQ(Digest(all), "b4b7a922ddba815d5f1dcfb46bb2c8939adeb26fc05e1ff46834483dcd123b5c");
  EXPECT_EQ(Digest(ManyBytes(5'000'001)),
            "4b3fa8a2fbe3f5fe2f34d7e83f17c8beab8b657adeaa96cc033dbcfdfec26deb");
}

TEST(Sha256Test, IsTheSameByEveryInstructionSet) {
  const std::string bytes = ManyBytes(64 * 50);
  const auto* const blocks = reinterpret_cast<const uint8_t*>(bytes.data());
  for (size_t count = 0; count <= 50; ++count) {
    std::array<uint32_t, 8> plain = {1, 2, 3, 4, 0x80000000, 6, 7, 0xffffffff};
    std::array<uint32_t, 8> best = plain;
    Sha256BlocksPlain(blocks, count, plain.data());
    BestSha256Blocks()(blocks, count, best.data());
    EXPECT_EQ(plain, best) << count;
  }
}

// https://www.rfc-editor.org/rfc/rfc4231, cases 1, 2, 3, 6 and 7
TEST(HmacSha256Test, GivesTheValuesOfTheStandard) {
  const auto mac = [](std::string_view key, std::string_view bytes) {
    return ToHex(HmacSha256(key, bytes));
  };
  EXPECT_EQ(mac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(mac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(mac(std::string(20, '\xaa'), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(mac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(mac(std::string(131, '\xaa'),
                "This is a test using a larger than block-size key and a larger than block-size "
                "data. The key needs to be hashed before being used by the HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

}  // namespace
}  // namespace easydata::credentials
