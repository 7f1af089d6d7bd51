#include "easydata/stream/plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace easydata {
namespace {

using nlohmann::json;

TEST(PlanTest, EqualDescriptionsFit) {
  const json plan = {{"mix.seed", 3}, {"data.files", {"a long list of files", "and another one"}}};
  EXPECT_TRUE(CheckFingerprint(Fingerprint(plan), plan).ok());
}

TEST(PlanTest, NamesTheFirstDifference) {
  const json old_plan = {{"mix.seed", 3}, {"tokenizer", "0123456789abcdef0123456789"}};
  json plan = old_plan;
  plan["tokenizer"] = "fedcba98765432100123456789";
  const Status status = CheckFingerprint(Fingerprint(old_plan), plan);
  ASSERT_TRUE(status.IsInvalid());
  EXPECT_NE(status.message().find("tokenizer changed"), std::string::npos) << status;
  plan = old_plan;
  plan["mix.seed"] = 4;
  EXPECT_NE(CheckFingerprint(Fingerprint(old_plan), plan).message().find("from 3 to 4"),
            std::string::npos);
}

TEST(PlanTest, NamesTheItemOfAListThatChanged) {
  const json old_plan = {{"source.files", {"data/one.parquet", "data/two.parquet", "three"}}};
  const auto expect = [&](const json& files, const char* sentence) {
    const Status status = CheckFingerprint(Fingerprint(old_plan), {{"source.files", files}});
    EXPECT_NE(status.message().find(sentence), std::string::npos) << status;
  };
  expect({"data/one.parquet", "data/2.parquet", "three"},
         "source.files[1] changed, to \"data/2.parquet\";");
  expect({"data/one.parquet", "data/two.parquet"},
         "source.files has 2 items, not 3: source.files[2] is gone;");
  expect({"data/one.parquet", "data/two.parquet", "three", "four"},
         "source.files[3] is new: \"four\";");
  expect("data/one.parquet and no others", "source.files changed, from other content (hash ");
  const json sizes = {{"source.bytes", {1, 2}}, {"source.files", {"a", "b"}}};
  const auto message = [&](const json& now) {
    return CheckFingerprint(Fingerprint(sizes), now).message();
  };
  EXPECT_NE(message({{"source.bytes", {1, 3}}, {"source.files", {"a", "b"}}})
                .find("source.bytes[1] changed, from 2 to 3;"),
            std::string::npos);
  EXPECT_NE(message({{"source.bytes", {1, 3}}, {"source.files", {"a", "c"}}})
                .find("source.files[1] changed, from \"b\" to \"c\";"),
            std::string::npos);
  // States of before have no hashes of items.
  json before = Fingerprint(old_plan);
  before["source.files"] = before["source.files"].get<std::string>().substr(0, 17);
  EXPECT_TRUE(CheckFingerprint(before, old_plan).ok());
  EXPECT_TRUE(CheckFingerprint(Fingerprint(old_plan), old_plan).ok());
  const json many = {{"source.files", std::vector<std::string>(100, "data/one.parquet")}};
  EXPECT_EQ(Fingerprint(many)["source.files"].get<std::string>().size(), 17u);
}

TEST(PlanTest, NamesWhatCameAndWhatWent) {
  const json small = {{"a", 1}};
  const json large = {{"a", 1}, {"pack.seq_length", 8}};
  EXPECT_NE(CheckFingerprint(Fingerprint(small), large).message().find("pack.seq_length"),
            std::string::npos);
  EXPECT_NE(CheckFingerprint(Fingerprint(large), small).message().find("is gone"),
            std::string::npos);
}

TEST(PlanTest, FoldedSourcesAreNamedKeyByKey) {
  json plan = {{"mix.seed", 3}};
  for (int i = 0; i < 16; ++i) {
    const std::string prefix = "sources[s" + std::to_string(i) + "].";
    plan[prefix + "source.kind"] = "parquet";
    plan[prefix + "source.files"] = {"data/" + std::to_string(i) + ".parquet"};
    if (i % 3 == 0) plan[prefix + "limit"] = i;
  }
  const json saved = Fingerprint(plan);
  EXPECT_LT(saved.dump().size(), 16 * 40u);
  EXPECT_EQ(UnfoldFingerprint(saved).size(), plan.size());
  EXPECT_EQ(UnfoldFingerprint(UnfoldFingerprint(saved)), UnfoldFingerprint(saved));
  EXPECT_TRUE(CheckFingerprint(saved, plan).ok());
  EXPECT_TRUE(CheckFingerprint(UnfoldFingerprint(saved), plan).ok());
  const auto expect = [&](const char* key, const json& value, const char* sentence) {
    json other = plan;
    if (value.is_null()) {
      other.erase(key);
    } else {
      other[key] = value;
    }
    const Status status = CheckFingerprint(saved, other);
    EXPECT_NE(status.message().find(sentence), std::string::npos) << status;
  };
  expect("sources[s7].source.files", {"x"}, "sources[s7].source.files changed");
  expect("sources[s7].source.kind", "json", "sources[s7].source.kind changed");
  expect("sources[s3].limit", nullptr, "sources[s3].limit was");
  expect("sources[s4].limit", 4, "knows nothing of sources[s4].limit");
}

TEST(NeverEndsTest, MixesThatRestartAndRepetitionsForEver) {
  EXPECT_TRUE(NeverEnds({{"mix.stop_strategy", "restart"}, {"pack.strategy", "greedy"}}));
  EXPECT_TRUE(NeverEnds({{"repeat.passes", nullptr}}));
  EXPECT_FALSE(NeverEnds({{"mix.stop_strategy", "all_exhausted"}}));
  EXPECT_FALSE(NeverEnds({{"repeat.passes", 3}}));
  // What never ends is one source of a mix that does, or ends at a limit.
  EXPECT_FALSE(NeverEnds(
      {{"sources[a].mix.stop_strategy", "restart"}, {"mix.stop_strategy", "first_exhausted"}}));
  EXPECT_FALSE(NeverEnds({{"repeat.passes", nullptr}, {"transforms", {"limit 10"}}}));
}

}  // namespace
}  // namespace easydata
