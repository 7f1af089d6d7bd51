#include "easydata/base/nearest_name.h"

#include <gtest/gtest.h>

namespace easydata {
namespace {

const std::vector<std::string> kNames = {"seq_length", "strategy", "num_packers", "pad_token_id",
                                         "eos_token_id"};

TEST(NearestName, FindsSlipsOfTheFinger) {
  EXPECT_EQ(NearestName("seq_lenght", kNames), "seq_length");
  EXPECT_EQ(NearestName("SEQ_LENGTH", kNames), "seq_length");
  EXPECT_EQ(NearestName("stratgy", kNames), "strategy");
  EXPECT_EQ(NearestName("eos_token", kNames), "eos_token_id");
}

TEST(NearestName, FindsAPartOfAName) { EXPECT_EQ(NearestName("length", kNames), "seq_length"); }

TEST(NearestName, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(NearestName("colour", kNames), std::nullopt);
  EXPECT_EQ(NearestName("x", {}), std::nullopt);
  EXPECT_EQ(NearestName("b", {"a"}), std::nullopt);
  EXPECT_EQ(NearestName("", kNames), std::nullopt);
}

TEST(NearestName, TiesGoToTheFirst) { EXPECT_EQ(NearestName("cot", {"cat", "cut"}), "cat"); }

TEST(Suggestion, NamesTheNearestOrAll) {
  EXPECT_EQ(Suggestion("stratgy", kNames), "; did you mean \"strategy\"?");
  EXPECT_EQ(Suggestion("zzzz", {"a", "b"}), "; there are: a, b");
  EXPECT_EQ(Suggestion("zzzz", {}), "");
}

}  // namespace
}  // namespace easydata
