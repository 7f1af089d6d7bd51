#include "easydata/plan/concat_plan.h"

#include <arrow/array.h>
#include <arrow/json/from_string.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "easydata/exec/thread_pool.h"
#include "easydata/json/json_column.h"
#include "easydata/json/json_text.h"
#include "easydata/stream/memory_stage.h"

namespace easydata::plan {
namespace {

using SchemaPtr = std::shared_ptr<arrow::Schema>;

/// A stream of one batch; `columns`: their values as JSON lists.
source::ConcatPart Part(const arrow::FieldVector& fields, const std::vector<std::string>& columns) {
  const SchemaPtr schema = arrow::schema(fields);
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < columns.size(); ++i) {
    arrays.push_back(arrow::json::ArrayFromJSONString(fields[i]->type(), columns[i]).ValueOrDie());
  }
  const auto rows = arrow::RecordBatch::Make(schema, arrays[0]->length(), arrays);
  StreamPlan plan;
  plan.node = MakeNode("source", {{"columns", static_cast<int>(columns.size())}});
  plan.make = [rows, schema](const StageContext&) {
    return MakeMemoryStage({rows}, schema, "memory", "rows");
  };
  plan.schema = [schema] { return schema; };
  return {plan, {}};
}

struct Joined {
  SchemaPtr schema;
  std::string rows;  // as JSON lines
  std::vector<bool> is_json;
};

/// Reads parts one after the other; nothing where they have no form in common.
std::optional<Joined> Join(const std::vector<source::ConcatPart>& parts,
                           const Columns& columns = {}) {
  const auto plan = ConcatInCommonColumns(parts, columns).ValueOrDie();
  if (!plan.has_value()) return std::nullopt;
  // States say nothing of the form of columns.
  EXPECT_EQ(Describe(*plan->node), Describe(*source::ConcatPlan(parts).node));
  auto stage = plan->make({0, std::make_shared<exec::ThreadPool>(1)}).ValueOrDie();
  EXPECT_TRUE(plan->schema().ValueOrDie()->Equals(*stage->schema()));
  Joined out;
  out.schema = stage->schema();
  for (const auto& field : out.schema->fields()) out.is_json.push_back(json::IsJsonField(*field));
  for (;;) {
    auto batch = stage->Next();
    if (!batch.ok()) {
      out.rows += batch.status().ToString();
      return out;
    }
    if (!batch->has_value()) return out;
    EXPECT_TRUE((*batch)->rows->schema()->Equals(*out.schema)) << (*batch)->rows->ToString();
    EXPECT_TRUE((*batch)->rows->ValidateFull().ok());
    EXPECT_TRUE(json::AppendJsonLines(*(*batch)->rows, &out.rows).ok());
  }
}

const auto kInt = arrow::field("n", arrow::int64());
const auto kSmall = arrow::field("n", arrow::int32(), /*nullable=*/false);
const auto kText = arrow::field("t", arrow::utf8());

TEST(ConcatPlanTest, ColumnsInAnotherOrderAndOfOtherWidthsAreCast) {
  const auto joined = Join({Part({kSmall, kText}, {"[1]", R"(["a"])"}),
                            Part({kText, kInt}, {R"(["b"])", "[5000000000]"}),
                            Part({kText, kSmall}, {R"([null])", "[3]"})});
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(joined->schema->ToString(), "n: int64\nt: string");
  EXPECT_EQ(joined->rows,
            "{\"n\":1,\"t\":\"a\"}\n{\"n\":5000000000,\"t\":\"b\"}\n{\"n\":3,\"t\":null}\n");
}

TEST(ConcatPlanTest, RowsThatLackAColumnGoOnWithoutIt) {
  const auto joined = Join({Part({kInt, kText}, {"[1]", R"(["a"])"}), Part({kInt}, {"[2]"})});
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(joined->is_json, std::vector<bool>{true});
  EXPECT_EQ(joined->rows, "{\"n\":1,\"t\":\"a\"}\n{\"n\":2}\n");
}

TEST(ConcatPlanTest, TypesThatHaveNoneInCommonBecomeJson) {
  const auto joined =
      Join({Part({kInt}, {"[1]"}), Part({arrow::field("n", arrow::float64())}, {"[2]"}),
            Part({arrow::field("n", arrow::utf8())}, {R"(["x"])"})});
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(joined->rows, "{\"n\":1}\n{\"n\":2.0}\n{\"n\":\"x\"}\n");
}

TEST(ConcatPlanTest, RowsOfJsonStayAsTheyAre) {
  const auto whole = json::JsonField(json::kRowColumn);
  const auto joined =
      Join({Part({kText}, {R"(["a"])"}), Part({whole}, {R"(["{\"t\": null}", "{}"])"})});
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(joined->schema->ToString(false), "__row__: string");
  EXPECT_EQ(joined->rows, "{\"t\":\"a\"}\n{\"t\": null}\n{}\n");
}

TEST(ConcatPlanTest, RequestedColumnsAreOfTheKindThatIsWanted) {
  const auto ids = arrow::field("ids", arrow::list(arrow::int64()));
  const auto few = arrow::field("ids", arrow::list(arrow::float64()));
  const Columns wanted{
      {{"t", ColumnKind::kText}, {"n", ColumnKind::kAny}, {"ids", ColumnKind::kTokens}}};
  const auto first = Part({kText->WithNullable(false), json::JsonField("n"), ids},
                          {R"(["a", "b"])", R"([null, "1.5"])", "[[1], [2, 3]]"});
  const auto joined = Join({first, Part({arrow::field("t", arrow::large_utf8()), kInt, ids},
                                        {R"(["c"])", "[7]", "[[4]]"})},
                           wanted);
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(joined->schema->ToString(false), "t: string\nn: string\nids: list<item: int32>");
  EXPECT_EQ(joined->is_json, (std::vector<bool>{false, true, false}));
  EXPECT_EQ(joined->rows,
            "{\"t\":\"a\",\"ids\":[1]}\n{\"t\":\"b\",\"n\":1.5,\"ids\":[2,3]}\n"
            "{\"t\":\"c\",\"n\":7,\"ids\":[4]}\n");
  // What is no text and no tokens is an error of its row.
  const auto no_text =
      Join({first, Part({arrow::field("t", arrow::int64()), kInt, ids}, {"[1]", "[7]", "[[4]]"})},
           wanted);
  EXPECT_NE(no_text->rows.find("row 0: field 't' holds a number, expected text"), std::string::npos)
      << no_text->rows;
  const auto no_tokens =
      Join({first, Part({kText, kInt, few}, {R"(["c"])", "[7]", "[[0.5]]"})}, wanted);
  EXPECT_NE(no_tokens->rows.find("row 0: field 'ids' holds an array, expected"), std::string::npos)
      << no_tokens->rows;
}

TEST(ConcatPlanTest, TextAndJsonTextAreNotTheSame) {
  const Columns wanted{{{"t", ColumnKind::kAny}}};
  const auto typed = Part({kText}, {R"(["1"])"});
  const auto json = Part({json::JsonField("t")}, {R"(["1"])"});
  for (const auto& joined : {Join({typed, json}, wanted), Join({json, typed}, wanted)}) {
    ASSERT_TRUE(joined.has_value());
    EXPECT_EQ(joined->is_json, std::vector<bool>{true});
    EXPECT_TRUE(joined->rows == "{\"t\":\"1\"}\n{\"t\":1}\n" ||
                joined->rows == "{\"t\":1}\n{\"t\":\"1\"}\n")
        << joined->rows;
  }
}

TEST(ConcatPlanTest, WhatJsonHasNotIsNotWrittenAsJson) {
  for (const auto& type :
       {arrow::timestamp(arrow::TimeUnit::MICRO), arrow::binary(), arrow::decimal128(9, 2)}) {
    const auto field = arrow::field("x", type);
    const auto part = Part({field, kInt}, {"[null]", "[1]"});
    EXPECT_FALSE(Join({part, Part({kInt}, {"[1]"})}).has_value()) << type->ToString();
    const auto ordered = Join({part, Part({kInt, field}, {"[1]", "[null]"})});
    ASSERT_TRUE(ordered.has_value()) << type->ToString();
    EXPECT_TRUE(ordered->schema->field(0)->type()->Equals(*type));
  }
}

}  // namespace
}  // namespace easydata::plan
