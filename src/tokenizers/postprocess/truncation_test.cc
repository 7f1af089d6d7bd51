#include "tokenizers/postprocess/truncation.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace easydata::tokenizers {
namespace {

using Ids = std::vector<int32_t>;

Result<std::optional<Truncation>> TruncationFrom(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element component;
  EXPECT_EQ(parser.parse(json.data(), json.size()).get(component), simdjson::SUCCESS) << json;
  return MakeTruncation(component);
}

// 7 stands before the text, which is 1 to 5.
struct Cut {
  Ids ids;
  Result<bool> cut;
};

// {max_length, left, stride, only_second}
Cut Truncate(const Truncation& truncation, int64_t num_added) {
  IdBuffer ids;
  ids.Append({7, 1, 2, 3, 4, 5});
  Result<bool> cut = TruncateIds(truncation, num_added, 1, &ids);
  return {{ids.data(), ids.data() + ids.size()}, std::move(cut)};
}

TEST(TruncationTest, ReadsAllFields) {
  const Truncation truncation = **TruncationFrom(
      R"({"direction":"Left","max_length":8,"strategy":"OnlySecond","stride":3,"more":1})");
  EXPECT_TRUE(truncation.left);
  EXPECT_TRUE(truncation.only_second);
  EXPECT_EQ(truncation.max_length, 8);
  EXPECT_EQ(truncation.stride, 3);
  EXPECT_FALSE((**TruncationFrom(R"({"max_length":8,"strategy":"OnlyFirst","stride":0})"))
                   .left);  // the default
  EXPECT_FALSE(TruncationFrom("null")->has_value());
}

TEST(TruncationTest, OddFilesAreForTheReference) {
  for (const std::string_view json : {
           R"(8)",
           R"({"strategy":"LongestFirst","stride":0})",
           R"({"max_length":8,"strategy":"LongestFirst"})",
           R"({"max_length":-1,"strategy":"LongestFirst","stride":0})",
           R"({"max_length":8,"strategy":"longest_first","stride":0})",
           R"({"max_length":8,"strategy":"LongestFirst","stride":0,"direction":null})",
           R"({"max_length":8,"strategy":"LongestFirst","stride":0,"max_length":9})",
       }) {
    EXPECT_TRUE(TruncationFrom(json).status().IsNotImplemented()) << json;
  }
}

TEST(TruncationTest, CutsEitherEnd) {
  const Cut right = Truncate({4, false, 0, false}, 1);
  EXPECT_EQ(right.ids, (Ids{7, 1, 2, 3}));
  EXPECT_TRUE(*right.cut);
  EXPECT_EQ(Truncate({4, true, 0, false}, 1).ids, (Ids{7, 3, 4, 5}));
  const Cut whole = Truncate({7, false, 0, false}, 2);
  EXPECT_EQ(whole.ids, (Ids{7, 1, 2, 3, 4, 5}));
  EXPECT_FALSE(*whole.cut);
}

TEST(TruncationTest, SpecialTokensMayTakeAllTheRoomAndMore) {
  const Cut none = Truncate({2, false, 9, true}, 2);
  EXPECT_EQ(none.ids, (Ids{7}));
  EXPECT_TRUE(*none.cut);
  const Cut all = Truncate({2, false, 0, false}, 3);
  EXPECT_EQ(all.ids, (Ids{7, 1, 2, 3, 4, 5}));
  EXPECT_FALSE(*all.cut);
}

TEST(TruncationTest, FailsWhereTheReferenceFails) {
  EXPECT_TRUE(Truncate({3, false, 3, false}, 0).cut.status().IsInvalid());
  EXPECT_TRUE(*Truncate({3, false, 2, false}, 0).cut);
  EXPECT_TRUE(Truncate({3, false, 0, true}, 0).cut.status().IsInvalid());
  EXPECT_FALSE(*Truncate({5, false, 9, true}, 0).cut);
}

}  // namespace
}  // namespace easydata::tokenizers
