#include "easydata/transform/field_use.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "easydata/stream/plan.h"

namespace easydata::transform {
namespace {

std::string Text(const Columns& columns) {
  if (!columns.has_value()) return "all";
  std::string text;
  for (const ColumnRequest& column : *columns) {
    const char* kind = column.kind == ColumnKind::kAny    ? ""
                       : column.kind == ColumnKind::kText ? ":text"
                                                          : ":tokens";
    text += (text.empty() ? "" : " ") + column.name + kind;
  }
  return text;
}

const Columns kWanted =
    std::vector<ColumnRequest>{{"a", ColumnKind::kText}, {"b", ColumnKind::kTokens}};

TEST(FieldUseTest, AStepThatSaysNothingPassesEverythingOn) {
  EXPECT_EQ(Text(FieldUse{}.Needs(std::nullopt)), "all");
  EXPECT_EQ(Text(FieldUse{}.Needs(kWanted)), "a:text b:tokens");
}

TEST(FieldUseTest, WhatMayBeReadIsAskedFor) {
  FieldUse use;
  use.reads_all = true;
  EXPECT_EQ(Text(use.Needs(kWanted)), "all");
  use = {};
  use.reads_only = std::vector<ColumnRequest>{{"c", ColumnKind::kText}};
  EXPECT_EQ(Text(use.Needs(kWanted)), "c:text");
  EXPECT_EQ(Text(use.Needs(std::nullopt)), "c:text");
  use = {};
  use.read = {"c", "a"};
  EXPECT_EQ(Text(use.Needs(kWanted)), "a b:tokens c");
  EXPECT_EQ(Text(use.Needs(std::nullopt)), "all");
}

TEST(FieldUseTest, WhatIsMadeNeedNotBeThere) {
  FieldUse use;
  use.written = {"a"};
  EXPECT_EQ(Text(use.Needs(kWanted)), "b:tokens");
  use = {};
  use.changed = {"b", "c"};
  EXPECT_EQ(Text(use.Needs(kWanted)), "a:text b");
}

TEST(FieldUseTest, SelectedFieldsAreAllThatIsRead) {
  FieldUse use;
  use.selected = {"b", "c", "b"};
  EXPECT_EQ(Text(use.Needs(std::nullopt)), "b c");
  EXPECT_EQ(Text(use.Needs(kWanted)), "b:tokens");
}

TEST(FieldUseTest, RenamedFieldsAreReadByTheirOldNames) {
  FieldUse use;
  use.renamed = {{"x", "a"}};
  EXPECT_EQ(Text(use.Needs(kWanted)), "x a b:tokens");
  use.renamed = {{"x", "a"}, {"a", "y"}};
  EXPECT_EQ(Text(use.Needs(kWanted)), "x:text b:tokens");
  use.renamed = {{"b", "y"}};
  EXPECT_EQ(Text(use.Needs(kWanted)), "a:text");
}

TEST(FieldUseTest, WhatPlansDoNotNameIsAskedForToo) {
  FieldUse use;
  use.written = {"a"};
  use.read = {"x"};
  use.read_unnamed = {"y", "b"};
  const Columns needs = use.Needs(kWanted);
  EXPECT_EQ(Text(needs), "b x y");
  EXPECT_EQ(DescribeColumns(*needs).dump(), R"({"b":"any","x":"any"})");
}

}  // namespace
}  // namespace easydata::transform
