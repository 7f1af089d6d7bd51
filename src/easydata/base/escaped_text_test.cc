#include "easydata/base/escaped_text.h"

#include <gtest/gtest.h>

#include <string>

namespace easydata {
namespace {

TEST(EscapedTextTest, LeavesWhatCanBeSeen) {
  for (const char* text : {"", "s3://bucket/a b.jsonl", "späti\\n/日本/🙂.jsonl", "%FF"}) {
    EXPECT_EQ(EscapedText(text), text);
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
}

TEST(EscapedTextTest, ShowsWhatWouldDoSomething) {
  EXPECT_EQ(EscapedText(std::string("a\nb\r\tc\0d\x1b[2J\x7f", 13)),
            "a\\nb\\r\\tc\\x00d\\x1b[2J\\x7f");
  EXPECT_EQ(EscapedText("\xc2\x9b"
                        "31m \xe2\x80\xa8 \xe2\x80\xae"),
            "\\u009b31m \\u2028 \\u202e");
}

TEST(EscapedTextTest, ShowsBytesThatAreNoText) {
  for (const auto& [text, shown] : {std::pair{"a\xff\xfe", "a\\xff\\xfe"},
                                    {"\xc3", "\\xc3"},
                                    {"\xc0\x80", "\\xc0\\x80"},
                                    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
                                    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
                                    {"\xe2\x82", "\\xe2\\x82"},
                                    {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"}}) {
    EXPECT_EQ(EscapedText(text), shown);
    EXPECT_FALSE(IsUtf8(text)) << shown;
  }
}

TEST(EscapedTextTest, CutsBetweenCharacters) {
  EXPECT_EQ(EscapedText("abcdef", 6), "abcdef");
  EXPECT_EQ(EscapedText("abcdef", 5), "abcde...");
  EXPECT_EQ(EscapedText("ab\xc3\xa4", 3), "ab...");
}

}  // namespace
}  // namespace easydata
