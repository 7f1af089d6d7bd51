#include "tokenizers/normalize/unicode_form.h"

#include <gtest/gtest.h>

#include <string>

namespace easydata::tokenizers {
namespace {

const UnicodeForm kForm(UnicodeForm::kNfc);

std::string Nfc(std::string_view text) {
  std::string out = "left over";
  EXPECT_TRUE(kForm.Normalize(text, &out).ok());
  return out;
}

TEST(UnicodeFormTest, ComposesWithTheCharacterBefore) {
  EXPECT_EQ(Nfc("cafe\u0301 x"), "caf\u00e9 x");
  EXPECT_EQ(Nfc("A\u030a"), "\u00c5");
  EXPECT_EQ(Nfc("\u00c5\u0301"), "\u01fa");
  EXPECT_EQ(Nfc("\u212b"), "\u00c5");
}

TEST(UnicodeFormTest, OrdersMarksByTheirClass) {
  EXPECT_EQ(Nfc("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(Nfc("d\u0307\u0323"), "\u1e0d\u0307");
  EXPECT_EQ(Nfc("\u0307\u0323a"), "\u0323\u0307a");
}

TEST(UnicodeFormTest, BlockedMarksStay) {
  EXPECT_EQ(Nfc("a\u0315\u0301"), "\u00e1\u0315");
  EXPECT_EQ(Nfc("a\u0301\u0301"), "\u00e1\u0301");
  EXPECT_EQ(Nfc("a\u0313\u0301"), "a\u0313\u0301");
  EXPECT_EQ(Nfc("a\u200d\u0301"), "a\u200d\u0301");
}

TEST(UnicodeFormTest, ExcludedCompositionsFallApart) {
  EXPECT_EQ(Nfc("\u0958"), "\u0915\u093c");
  EXPECT_EQ(Nfc("\u0344"), "\u0308\u0301");
  EXPECT_EQ(Nfc("\U0001d15e"), "\U0001d157\U0001d165");
}

TEST(UnicodeFormTest, Hangul) {
  EXPECT_EQ(Nfc("\u1100\u1161\u11a8"), "\uac01");
  EXPECT_EQ(Nfc("\uac00\u11a8"), "\uac01");
  EXPECT_EQ(Nfc("\u1100\u1161\u1161"), "\uac00\u1161");
}

TEST(UnicodeFormTest, InertTextIsSeen) {
  EXPECT_TRUE(kForm.IsInert("plain, \u00e9, \u4e2d, \U0001f642"));
  EXPECT_TRUE(kForm.IsInert(""));
  EXPECT_FALSE(kForm.IsInert("e\u0301"));
  EXPECT_FALSE(kForm.IsInert("a long enough text to take eight bytes at once \u0958"));
}

TEST(UnicodeFormTest, TextAroundSegmentsIsKept) {
  const std::string plain(1000, 'x');
  EXPECT_EQ(Nfc(plain + "e\u0301" + plain + "o\u0308"), plain + "\u00e9" + plain + "\u00f6");
  EXPECT_EQ(Nfc(""), "");
}

TEST(UnicodeFormTest, MarksInOrderAreInert) {
  const std::string thai = "\u0e01\u0e38\u0e48\u0e19";  // classes 103, 107
  EXPECT_TRUE(kForm.IsInert(thai));
  EXPECT_FALSE(kForm.IsInert("\u0e01\u0e48\u0e38"));
  EXPECT_EQ(Nfc("\u0e01\u0e48\u0e38\u0e19"), thai);
  EXPECT_EQ(Nfc("a\u0301\u0323\u0301"), "\u1ea1\u0301\u0301");
}

TEST(UnicodeFormTest, LongRunsOfMarksAreSorted) {
  std::string mixed, sorted_low, sorted_high;
  for (int i = 0; i < 5000; ++i) {
    mixed += "\u0307\u0323";
    sorted_low += "\u0323";
    sorted_high += "\u0307";
  }
  EXPECT_EQ(Nfc("q" + mixed), "q" + sorted_low + sorted_high);
}

}  // namespace
}  // namespace easydata::tokenizers
