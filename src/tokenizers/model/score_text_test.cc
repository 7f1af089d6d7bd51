#include "tokenizers/model/score_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace easydata::tokenizers {
namespace {

double Score(std::string_view text) { return ParseScore(text).ValueOrDie(); }

TEST(ParseScoreTest, ReadsPlainNumbers) {
  EXPECT_EQ(Score("0"), 0.0);
  EXPECT_EQ(Score("-3"), -3.0);
  EXPECT_EQ(Score("2.5"), 2.5);
  EXPECT_EQ(Score("-1.25e2"), -125.0);
  EXPECT_EQ(Score("5E-1"), 0.5);
  EXPECT_TRUE(std::signbit(Score("-0.0")));
}

// Expected values: what json.loads(tokenizers.Tokenizer.from_str(...).to_str()) showed.
TEST(ParseScoreTest, RoundsTwiceAsTheReferenceDoes) {
  // 15927777130473181 / 10^15 is one unit off the nearest double in neither spelling alone, but the
  // long one drops digits that do not fit 64 bits.
  EXPECT_EQ(Score("-15.9277771304731814439037407"), -(15927777130473181443.0 / 1e18));
  EXPECT_EQ(Score("-7.72792539928754429468"), -(7727925399287544294.0 / 1e18));
  EXPECT_NE(Score("-7.72792539928754429468"), -7.72792539928754429468);
}

TEST(ParseScoreTest, DropsDigitsThatDoNotFit) {
  EXPECT_EQ(Score("18446744073709551615"), 18446744073709551615.0);
  EXPECT_EQ(Score("18446744073709551616"), 1844674407370955161.0 * 10);
  EXPECT_EQ(Score("184467440737095516169"), 1844674407370955161.0 * 100);
  EXPECT_EQ(Score("0.18446744073709551616"), 1844674407370955161.0 / 1e19);
}

TEST(ParseScoreTest, HasNoRangeBeyondDoubles) {
  EXPECT_EQ(Score("1e-400"), 0.0);
  EXPECT_EQ(Score("0e99999999999"), 0.0);
  EXPECT_EQ(Score("1e-99999999999"), 0.0);
  EXPECT_FALSE(ParseScore("1e400").ok());
  EXPECT_FALSE(ParseScore("1e99999999999").ok());
  EXPECT_FALSE(ParseScore("10e308").ok());
}

TEST(ReadScoresTest, TakesTheModelsVocab) {
  const auto scores = ReadScores(
      R"({"vocab": 1, "model": {"unk_id": 0, "vocab": [["a", -1.5 ], ["\"b]", 2], ["", 1e1]]}})");
  EXPECT_THAT(scores.ValueOrDie(), testing::ElementsAre(-1.5, 2.0, 10.0));
}

TEST(ReadScoresTest, RefusesAnotherShape) {
  EXPECT_FALSE(ReadScores(R"({"model": {"vocab": [1]}})").ok());
  EXPECT_FALSE(ReadScores(R"([])").ok());
}

}  // namespace
}  // namespace easydata::tokenizers
