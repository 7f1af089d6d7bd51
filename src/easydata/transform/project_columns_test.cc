#include "easydata/transform/project_columns.h"

#include "easydata/transform/transform_test_rows.h"

namespace easydata::transform {
namespace {

using Names = std::vector<std::string>;
using Texts = TestRows::Texts;

TEST(ProjectColumnsTest, SelectKeepsItsOwnOrderAndSkipsMissingColumns) {
  const Batch in = TestRows().Text("a", {"x"}).Ints("b", {1}).Ints("c", {2}).Make();
  const Batch out = SelectColumns({"c", "nope", "a"})->Apply(in).ValueOrDie();
  EXPECT_EQ(out.rows->schema()->field_names(), (Names{"c", "a"}));
  EXPECT_EQ(out.rows->column(1).get(), in.rows->column(0).get());  // no copy
  EXPECT_EQ(out.addresses.At(0).row, 10);
}

TEST(ProjectColumnsTest, DropKeepsTheRest) {
  const Batch in = TestRows().Text("a", {"x"}).Ints("b", {1}).Ints("c", {2}).Make();
  const Batch out = DropColumns({"b", "nope"})->Apply(in).ValueOrDie();
  EXPECT_EQ(out.rows->schema()->field_names(), (Names{"a", "c"}));
}

TEST(ProjectColumnsTest, SelectingNothingKeepsTheRowCount) {
  const Batch in = TestRows().Ints("b", {1, 2, 3}).Make();
  EXPECT_EQ(SelectColumns({})->Apply(in).ValueOrDie().num_rows(), 3);
}

TEST(ProjectColumnsTest, RenameKeepsOrder) {
  const Batch in = TestRows().Text("a", {"x"}).Ints("b", {1}).Make();
  const Batch out = RenameColumns({{"a", "A"}, {"zz", "Y"}})->Apply(in).ValueOrDie();
  EXPECT_EQ(out.rows->schema()->field_names(), (Names{"A", "b"}));
}

TEST(ProjectColumnsTest, SwappedNamesDoNotClash) {
  const Batch in = TestRows().Text("a", {"x"}).Text("b", {"y"}).Make();
  const Batch out = RenameColumns({{"a", "b"}, {"b", "a"}})->Apply(in).ValueOrDie();
  EXPECT_EQ(out.rows->schema()->field_names(), (Names{"b", "a"}));
  EXPECT_EQ(TextsOf(out, "b"), (Texts{"x"}));
}

TEST(ProjectColumnsTest, LaterTypedColumnKeepsASharedNameNullsIncluded) {
  const Batch in = TestRows().Text("a", {"x", "x"}).Ints("n", {1, 2}).Text("b", {"y", {}}).Make();
  const Batch out = RenameColumns({{"a", "b"}})->Apply(in).ValueOrDie();
  EXPECT_EQ(out.rows->schema()->field_names(), (Names{"b", "n"}));
  EXPECT_EQ(TextsOf(out, "b"), (Texts{"y", {}}));
  const Batch back = RenameColumns({{"b", "a"}})->Apply(in).ValueOrDie();
  EXPECT_EQ(TextsOf(back, "a"), (Texts{"y", {}}));
}

TEST(ProjectColumnsTest, MovedColumnKeepsASharedNameWhereToldSo) {
  const Batch in = TestRows().Text("a", {"x"}).Text("b", {"y"}).Make();
  for (const auto& [from, to, kept] : {std::tuple{"a", "b", "x"}, std::tuple{"b", "a", "y"}}) {
    const Batch out = RenameColumns({{from, to}}, NameClash::kRenamedWins)->Apply(in).ValueOrDie();
    EXPECT_EQ(TextsOf(out, to), (Texts{kept}));
  }
}

TEST(ProjectColumnsTest, JsonColumnsAreJoinedSlotBySlot) {
  const Batch in = TestRows().Json("a", {"1", {}, {}}).Json("b", {{}, "2", {}}).Make();
  const Batch out = RenameColumns({{"a", "b"}})->Apply(in).ValueOrDie();
  EXPECT_EQ(TextsOf(out, "b"), (Texts{"1", "2", {}}));
  EXPECT_TRUE(json::IsJsonField(*out.rows->schema()->field(0)));
}

TEST(ProjectColumnsTest, RowWithBothJsonFieldsIsAnErrorWithItsAddress) {
  const Batch in = TestRows().Json("a", {"1", "1"}).Json("b", {{}, "2"}).Make();
  const Status error = RenameColumns({{"a", "b"}})->Apply(in).status();
  EXPECT_NE(error.message().find("a.jsonl row 11"), std::string::npos) << error;
  const Batch moved = RenameColumns({{"a", "b"}}, NameClash::kRenamedWins)->Apply(in).ValueOrDie();
  EXPECT_EQ(TextsOf(moved, "b"), (Texts{"1", "1"}));
}

}  // namespace
}  // namespace easydata::transform
