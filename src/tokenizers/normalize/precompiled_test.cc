#include "tokenizers/normalize/precompiled.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace easydata::tokenizers {
namespace {

// A map whose keys are single bytes of ASCII: the root's children lie at 1 ^ byte, their values at
// 0x80 | byte.
std::string MakeMap(const std::vector<std::pair<char, std::string>>& entries) {
  std::vector<uint32_t> units(256);
  units[0] = 1 << 10;
  std::string texts;
  for (const auto& [key, text] : entries) {
    const auto byte = static_cast<uint32_t>(key);
    const uint32_t node = 1 ^ byte, leaf = 0x80 | byte;
    units[node] = byte | 0x100 | (node ^ leaf) << 10;
    units[leaf] = 1u << 31 | static_cast<uint32_t>(texts.size());
    texts += text + '\0';
  }
  const uint32_t size = static_cast<uint32_t>(units.size() * sizeof(uint32_t));
  std::string bytes(sizeof(size) + size, '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  std::memcpy(bytes.data() + sizeof(size), units.data(), size);
  return bytes + texts;
}

Result<std::string> ApplyMap(const std::string& map, std::string_view text) {
  ARROW_ASSIGN_OR_RAISE(Charsmap parsed, Charsmap::Parse(map));
  const Precompiled normalizer(std::move(parsed));
  std::string out;
  ARROW_RETURN_NOT_OK(normalizer.Normalize(text, &out));
  if (normalizer.IsInert(text)) {
    EXPECT_EQ(out, text);
  }
  return out;
}

// The expected texts are those of the reference.
TEST(PrecompiledTest, ShortClustersBecomeWhatTheirShortestPrefixBecomes) {
  const std::string map = MakeMap({{'a', "!"}, {'\r', " "}, {'e', "e"}});
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},
      {"a", "!"},
      {"ba\u0301", "b!"},
      {"a\u0301\u0300", "!"},
      {"a\u0e48\u0301", "!\u0e48\u0301"},  // six bytes: character by character
      {"\r\n", " "},
      {"\n", "\n"},
      {"e\u0301", "e"},
      {"x\u0301", "x\u0301"},
      {"\u0600a\u0301", "\u0600!\u0301"},  // U+0600 takes what follows into its cluster
      {"a\u200db", "!b"},
      {"xyz\u4e2d\u0301a\u4e2d", "xyz\u4e2d\u0301!\u4e2d"},
  };
  for (const auto& [text, expected] : cases) {
    const Result<std::string> result = ApplyMap(map, text);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, expected) << text;
  }
}

TEST(PrecompiledTest, MapsThatPointOutsideThemselvesAreErrorsOfTheText) {
  std::string map = MakeMap({{'a', "!"}});
  EXPECT_EQ(ApplyMap(map, "xyz").ValueOrDie(), "xyz");
  map.resize(4 + 4 * 0x90);
  const uint32_t size = 4 * 0x90;
  std::memcpy(map.data(), &size, sizeof(size));
  EXPECT_TRUE(ApplyMap(map, "a").status().IsInvalid());
  EXPECT_TRUE(ApplyMap(std::string(4, '\0'), "a").status().IsInvalid());
  EXPECT_TRUE(Charsmap::Parse("abc").status().IsNotImplemented());
  EXPECT_TRUE(Charsmap::Parse(map.substr(0, 100)).status().IsNotImplemented());
}

TEST(PrecompiledTest, Base64IsDecodedStrictly) {
  EXPECT_EQ(DecodeBase64("AAECAw=="), std::string("\0\1\2\3", 4));
  EXPECT_EQ(DecodeBase64("+/+/"), "\xfb\xff\xbf");
  EXPECT_EQ(DecodeBase64(""), "");
  for (const char* text : {"AAECAw=", "AAECAx==", "AAE", "AA=A", "AAE\n", "====", "A==="}) {
    EXPECT_FALSE(DecodeBase64(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace easydata::tokenizers
