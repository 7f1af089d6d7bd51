#include "easydata/stream/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace easydata {
namespace {

using ::testing::HasSubstr;

/// A plan without rules.
const PlanNode& Plain() {
  static const auto node = MakeNode("source", nlohmann::json::object());
  return *node;
}

nlohmann::json Saved(const nlohmann::json& description) {
  return Fingerprint(description, Plain());
}

Status Check(const nlohmann::json& saved, const nlohmann::json& description) {
  return CheckFingerprint(saved, description, Plain());
}

TEST(FingerprintTest, EqualDescriptionsFit) {
  const nlohmann::json plan = {{"mix.seed", 3},
                               {"data.files", {"a long list of files", "and another one"}}};
  EXPECT_TRUE(Check(Saved(plan), plan).ok());
}

TEST(FingerprintTest, NamesTheFirstDifference) {
  const nlohmann::json old_plan = {{"mix.seed", 3}, {"tokenizer", "0123456789abcdef0123456789"}};
  nlohmann::json plan = old_plan;
  plan["tokenizer"] = "fedcba98765432100123456789";
  const Status status = Check(Saved(old_plan), plan);
  ASSERT_TRUE(status.IsInvalid());
  EXPECT_NE(status.message().find("tokenizer changed"), std::string::npos) << status;
  plan = old_plan;
  plan["mix.seed"] = 4;
  EXPECT_NE(Check(Saved(old_plan), plan).message().find("from 3 to 4"), std::string::npos);
}

TEST(FingerprintTest, NamesTheItemOfAListThatChanged) {
  const nlohmann::json old_plan = {
      {"source.files", {"data/one.parquet", "data/two.parquet", "three"}}};
  const auto expect = [&](const nlohmann::json& files, const char* sentence) {
    const Status status = Check(Saved(old_plan), {{"source.files", files}});
    EXPECT_NE(status.message().find(sentence), std::string::npos) << status;
  };
  expect({"data/one.parquet", "data/2.parquet", "three"},
         "source.files[1] changed, to \"data/2.parquet\";");
  expect({"data/one.parquet", "data/two.parquet"},
         "source.files has 2 items, not 3: source.files[2] is gone;");
  expect({"data/one.parquet", "data/two.parquet", "three", "four"},
         "source.files[3] is new: \"four\";");
  expect("data/one.parquet and no others", "source.files changed, from other content (hash ");
  EXPECT_TRUE(Check(Saved(old_plan), old_plan).ok());
}

TEST(FingerprintTest, NamesWhatCameAndWhatWent) {
  const nlohmann::json small = {{"a", 1}};
  const nlohmann::json large = {{"a", 1}, {"pack.seq_length", 8}};
  EXPECT_NE(Check(Saved(small), large).message().find("pack.seq_length"), std::string::npos);
  EXPECT_NE(Check(Saved(large), small).message().find("is gone"), std::string::npos);
}

/// A rule is of the option of one node, not of what is called the same elsewhere.
TEST(FingerprintTest, OptionsCompareByTheRulesOfTheirNode) {
  static constexpr OptionRule kRules[] = {
      {.option = "lacking", .may_lack = true},
      {.option = "late",
       .rank = 1,
       .explain =
           [](const ComparedNode& node, const std::string& option) {
             return node.stream + " says of " + option + ": " + node.Saved(option)->dump() +
                    " before " + node.Current(option)->dump();
           }},
      {.option = "settled",
       .may_differ = [](const ComparedNode& node) { return node.IsSame("by"); }},
  };
  const auto plan_of = [](const nlohmann::json& options, std::span<const OptionRule> rules) {
    const auto inner = MakeNode("inner", options);
    inner->rules = rules;
    const auto outer = MakeNode("outer", options);
    outer->inputs = {{"part[0].", inner}};
    return outer;
  };
  const nlohmann::json saved_options = {{"by", 1}, {"late", 1}, {"settled", 1}};
  const auto check = [&](const nlohmann::json& now, const nlohmann::json& outer_now) {
    const auto saved = plan_of(saved_options, kRules);
    const auto plan = plan_of(now, kRules);
    plan->options = std::make_shared<const nlohmann::json>(outer_now);
    return CheckFingerprint(Fingerprint(Describe(*saved), *saved), Describe(*plan), *plan)
        .message();
  };
  const nlohmann::json& same = saved_options;
  EXPECT_EQ(check(same, same), "");
  EXPECT_EQ(check({{"by", 1}, {"late", 1}, {"settled", 2}, {"lacking", 1}}, same), "");
  EXPECT_THAT(check(same, {{"by", 1}, {"late", 1}, {"settled", 2}}),
              HasSubstr("outer.settled changed, from 1 to 2"));
  EXPECT_THAT(check(same, {{"by", 1}, {"lacking", 1}, {"late", 1}, {"settled", 1}}),
              HasSubstr("it knows nothing of outer.lacking"));
  EXPECT_EQ(check({{"by", 1}, {"late", 2}, {"settled", 1}}, same),
            "part[0]. says of late: 1 before 2");
  EXPECT_THAT(check({{"by", 1}, {"late", 2}, {"settled", 1}, {"zz", 1}}, same),
              HasSubstr("it knows nothing of part[0].inner.zz"));
  EXPECT_THAT(check({{"by", 2}, {"late", 2}, {"settled", 2}}, same),
              HasSubstr("part[0].inner.by changed, from 1 to 2"));
}

TEST(FingerprintTest, FoldedSourcesAreNamedKeyByKey) {
  const auto mix = MakeNode("mix", {{"seed", 3}});
  for (int i = 0; i < 16; ++i) {
    nlohmann::json options = {{"kind", "parquet"}};
    options["files"] = {"data/" + std::to_string(i) + ".parquet"};
    if (i % 3 == 0) options["limit"] = i;
    const std::string prefix = "sources[s" + std::to_string(i) + "].";
    mix->inputs.push_back({prefix, MakeNode("source", options), /*is_folded=*/true});
  }
  const nlohmann::json plan = Describe(*mix);
  const nlohmann::json saved = Fingerprint(plan, *mix);
  EXPECT_TRUE(saved.contains("sources[*]"));
  EXPECT_LT(saved.dump().size(), 16 * 40u);
  EXPECT_EQ(UnfoldFingerprint(saved).size(), plan.size());
  EXPECT_EQ(UnfoldFingerprint(UnfoldFingerprint(saved)), UnfoldFingerprint(saved));
  EXPECT_EQ(Fingerprint(plan, Plain()).size(), plan.size()) << "the mix asks for it";
  EXPECT_TRUE(CheckFingerprint(saved, plan, *mix).ok());
  EXPECT_TRUE(CheckFingerprint(UnfoldFingerprint(saved), plan, *mix).ok());
  const auto expect = [&](const char* key, const nlohmann::json& value, const char* sentence) {
    nlohmann::json other = plan;
    if (value.is_null()) {
      other.erase(key);
    } else {
      other[key] = value;
    }
    const Status status = CheckFingerprint(saved, other, *mix);
    EXPECT_NE(status.message().find(sentence), std::string::npos) << status;
  };
  expect("sources[s7].source.files", {"x"}, "sources[s7].source.files changed");
  expect("sources[s7].source.kind", "json", "sources[s7].source.kind changed");
  expect("sources[s3].source.limit", nullptr, "sources[s3].source.limit was");
  expect("sources[s4].source.limit", 4, "knows nothing of sources[s4].source.limit");
}

}  // namespace
}  // namespace easydata
