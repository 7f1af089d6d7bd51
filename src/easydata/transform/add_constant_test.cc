#include "easydata/transform/add_constant.h"

#include <nlohmann/json.hpp>

#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

using Texts = TestRows::Texts;

TEST(AddConstantTest, GoesToTheEndOrInPlace) {
  const Batch in = TestRows().Text("a", {"x", "y"}).Ints("b", {1, 2}).Make();
  const Batch added = AddConstant("src", "web")->Apply(in).ValueOrDie();
  EXPECT_EQ(added.rows->schema()->field_names(), (std::vector<std::string>{"a", "b", "src"}));
  EXPECT_EQ(TextsOf(added, "src"), (Texts{"web", "web"}));
  const Batch replaced = AddConstant("a", 3)->Apply(in).ValueOrDie();
  EXPECT_EQ(replaced.rows->schema()->field_names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(replaced.rows->schema()->field(0)->type()->Equals(arrow::int64()));
}

TEST(AddConstantTest, TypesFollowTheValue) {
  const Batch in = TestRows().Ints("b", {1}).Make();
  const auto type = [&](const nlohmann::json& value) {
    return AddConstant("v", value)->Apply(in).ValueOrDie().rows->column(1)->type()->ToString();
  };
  EXPECT_EQ(type(true), "bool");
  EXPECT_EQ(type(1.5), "double");
  EXPECT_EQ(type(-1), "int64");
  const Batch nested = AddConstant("v", {{"k", {1, 2}}})->Apply(in).ValueOrDie();
  EXPECT_TRUE(json::IsJsonField(*nested.rows->schema()->field(1)));
  EXPECT_EQ(TextsOf(nested, "v"), (Texts{"{\"k\":[1,2]}"}));
  EXPECT_EQ(TextsOf(AddConstant("v", nullptr)->Apply(in).ValueOrDie(), "v"), (Texts{"null"}));
  EXPECT_EQ(TextsOf(AddConstant("v", UINT64_MAX)->Apply(in).ValueOrDie(), "v"),
            (Texts{"18446744073709551615"}));
}

}  // namespace
}  // namespace easydata::transform
