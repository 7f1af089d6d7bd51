#include "tokenizers/normalize/grapheme.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace easydata::tokenizers {
namespace {

std::vector<std::string> Clusters(std::string_view text) {
  std::vector<std::string> clusters;
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const char* const cluster_end = Graphemes::Get().ClusterEnd(p, end);
    clusters.emplace_back(p, cluster_end);
    p = cluster_end;
  }
  return clusters;
}

using Parts = std::vector<std::string>;

TEST(GraphemesTest, MarksJoinWhatIsBeforeThem) {
  EXPECT_EQ(Clusters("ae\u0301\u0300b"), (Parts{"a", "e\u0301\u0300", "b"}));
  EXPECT_EQ(Clusters("\u0301a"), (Parts{"\u0301", "a"}));
  EXPECT_EQ(Clusters("\u0915\u0903x"), (Parts{"\u0915\u0903", "x"}));
  EXPECT_EQ(Clusters("\u0600ab"), (Parts{"\u0600a", "b"}));
}

TEST(GraphemesTest, ControlCharactersStandAlone) {
  EXPECT_EQ(Clusters("\r\n\n\u0301"), (Parts{"\r\n", "\n", "\u0301"}));
  EXPECT_EQ(Clusters("\n\r\u200b\u0301"), (Parts{"\n", "\r", "\u200b", "\u0301"}));
  EXPECT_EQ(Clusters("\u0600\n"), (Parts{"\u0600", "\n"}));
}

TEST(GraphemesTest, HangulSyllablesAreBuiltOfTheirLetters) {
  EXPECT_EQ(Clusters("\u1100\u1100\u1161\u11a8\u11a8"), (Parts{"\u1100\u1100\u1161\u11a8\u11a8"}));
  EXPECT_EQ(Clusters("\uac00\u1161\u11a8\uac00"), (Parts{"\uac00\u1161\u11a8", "\uac00"}));
  EXPECT_EQ(Clusters("\uac01\u1161"), (Parts{"\uac01", "\u1161"}));
  EXPECT_EQ(Clusters("\uac01\u11a8\u1100\uac01"), (Parts{"\uac01\u11a8", "\u1100\uac01"}));
}

TEST(GraphemesTest, ConjunctsNeedALinkerBetweenConsonants) {
  EXPECT_EQ(Clusters("\u0915\u094d\u0915\u0301"), (Parts{"\u0915\u094d\u0915\u0301"}));
  EXPECT_EQ(Clusters("\u0915\u094d\u093c\u0915"), (Parts{"\u0915\u094d\u093c\u0915"}));
  EXPECT_EQ(Clusters("\u0915\u093c\u0915"), (Parts{"\u0915\u093c", "\u0915"}));
  EXPECT_EQ(Clusters("x\u094d\u0915"), (Parts{"x\u094d", "\u0915"}));
}

TEST(GraphemesTest, PicturesAreJoinedByAZeroWidthJoiner) {
  EXPECT_EQ(Clusters("\u00a9\u200d\u2764"), (Parts{"\u00a9\u200d\u2764"}));
  EXPECT_EQ(Clusters("\u2764\ufe0f\u200d\u2764"), (Parts{"\u2764\ufe0f\u200d\u2764"}));
  EXPECT_EQ(Clusters("\u2764\u200d\u200d\u2764"), (Parts{"\u2764\u200d\u200d", "\u2764"}));
  EXPECT_EQ(Clusters("\u2764\u200d\ufe0f\u2764"), (Parts{"\u2764\u200d\ufe0f", "\u2764"}));
  EXPECT_EQ(Clusters("x\u200d\u2764"), (Parts{"x\u200d", "\u2764"}));
}

}  // namespace
}  // namespace easydata::tokenizers
