#include "easydata/transform/column_op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace easydata::transform {
namespace {

using ::testing::HasSubstr;

StreamPlan AnyRows() {
  StreamPlan plan;
  plan.node = MakeNode("rows", nlohmann::json::object());
  return plan;
}

TEST(ColumnOpTest, EachIsFoundByItsNameAndPrintedWithItsOptions) {
  const StreamPlan upstream = AnyRows();
  const std::pair<const char*, nlohmann::json> kinds[] = {
      {"select", {{"fields", {"a"}}}},
      {"drop", {{"fields", {"a", "b"}}}},
      {"rename", {{"fields", nlohmann::json::parse(R"([["a", "b"]])")}, {"renamed_wins", true}}},
      {"filter_non_empty", {{"fields", {"a"}}}},
      {"add_field", {{"field", "a"}, {"value", {1, nullptr}}}},
      {"end_documents",
       {{"max_length", 8}, {"bos", nullptr}, {"eos", 2}, {"eod", 2}, {"overlong", "truncate"}}},
      {"llm_rows",
       {{"length", 8}, {"eod", 2}, {"shift", true}, {"packed", false}, {"padding_column", ""}}},
  };
  for (const auto& [name, options] : kinds) {
    const auto plan = ColumnOpPlan(upstream, name, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->node->name, name);
    EXPECT_EQ(*plan->node->options, options);
    EXPECT_EQ(plan->node->keeps_row_count, std::string(name) != "filter_non_empty") << name;
  }
}

TEST(ColumnOpTest, PaddingsGoWithRenamedColumns) {
  StreamPlan upstream = AnyRows();
  auto node = MakeNode("rows", nlohmann::json::object());
  node->facts.paddings = std::make_shared<const ColumnPaddings>(
      ColumnPaddings{{"a", {.value = 1}}, {"b", {.value = 2}}, {"c", {.value = 3}}});
  upstream.node = node;
  const nlohmann::json renames = nlohmann::json::parse(R"([["a", "b"], ["b", "a"], ["x", "y"]])");
  const auto swapped =
      ColumnOpPlan(upstream, "rename", {{"fields", renames}, {"renamed_wins", true}}).ValueOrDie();
  const ColumnPaddings& paddings = *swapped.facts().paddings;
  EXPECT_EQ(paddings.size(), 3u);
  EXPECT_EQ(paddings.at("a").value, 2);
  EXPECT_EQ(paddings.at("b").value, 1);
  EXPECT_EQ(paddings.at("c").value, 3);
  const auto dropped = ColumnOpPlan(upstream, "drop", {{"fields", {"a"}}}).ValueOrDie();
  EXPECT_EQ(dropped.facts().paddings, node->facts.paddings);
}

TEST(ColumnOpTest, SaysWhatCannotBeRead) {
  const Status unknown = ColumnOpPlan(AnyRows(), "dropp", {}).status();
  EXPECT_TRUE(unknown.IsKeyError());
  EXPECT_THAT(unknown.message(), HasSubstr("did you mean \"drop\"?"));
  for (const nlohmann::json& options :
       {nlohmann::json::object(), nlohmann::json{{"fields", 3}}, nlohmann::json(nullptr)}) {
    const Status wrong = ColumnOpPlan(AnyRows(), "drop", options).status();
    EXPECT_TRUE(wrong.IsInvalid());
    EXPECT_THAT(wrong.message(), HasSubstr("options of the column operation \"drop\""));
  }
}

}  // namespace
}  // namespace easydata::transform
