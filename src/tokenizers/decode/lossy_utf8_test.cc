#include "tokenizers/decode/lossy_utf8.h"

#include <gtest/gtest.h>

namespace easydata::tokenizers {
namespace {

using namespace std::string_view_literals;

TEST(LossyUtf8Test, ValidTextIsKept) {
  EXPECT_EQ(LossyUtf8("a\u00e9\u4e2d\U0001f642\0b"sv), "a\u00e9\u4e2d\U0001f642\0b"sv);
  EXPECT_EQ(LossyUtf8(""), "");
}

TEST(LossyUtf8Test, OneReplacementPerMaximalPart) {
  EXPECT_EQ(LossyUtf8("a\xF0\x9F\x99z"), "a\uFFFDz");
  EXPECT_EQ(LossyUtf8("\xE4\xB8"), "\uFFFD");
  EXPECT_EQ(LossyUtf8("\x80\x80"), "\uFFFD\uFFFD");
  EXPECT_EQ(LossyUtf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(LossyUtf8("\xC0\xAF"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(LossyUtf8("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(LossyUtf8Test, FirstInvalid) {
  EXPECT_EQ(FirstInvalidUtf8("ab\u00e9"), 4u);
  EXPECT_EQ(FirstInvalidUtf8("ab\xFFzz"), 2u);
  EXPECT_EQ(FirstInvalidUtf8("\xE4\xB8"), 0u);
}

}  // namespace
}  // namespace easydata::tokenizers
