#include "easydata/json/json_parse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace easydata::json {
namespace {

TEST(JsonParserTest, ATextThatIsCutIsReadToItsEnd) {
  constexpr std::string_view kText = R"({"a": NaN, "b\"": "\\"})";
  JsonParser parser;
  ASSERT_TRUE(parser.Parse(kText).ok());
  for (size_t size = 0; size < kText.size(); ++size) {
    // Memory of just that size: one character more would be behind it.
    const auto cut = std::make_unique<char[]>(size);
    std::copy_n(kText.data(), size, cut.get());
    EXPECT_TRUE(parser.Parse({cut.get(), size}).status().IsInvalid()) << size;
  }
}

}  // namespace
}  // namespace easydata::json
