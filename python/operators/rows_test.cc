#include "operators/rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>

#include "easydata/json/json_column.h"
#include "operators/embedded_python_for_tests.h"

namespace easydata {
namespace {

using testing::HasSubstr;

std::string Shown(nb::handle value) { return nb::repr(value).c_str(); }

std::shared_ptr<arrow::RecordBatch> ColumnsOf(const Columns& columns, const char* rows) {
  RowColumns made(columns);
  for (nb::handle row : Evaluated(rows)) EXPECT_TRUE(made.Append(row).ok());
  return made.Finish().ValueOrDie();
}

TEST(Rows, AColumnHasTheTypeThatIsAskedFor) {
  const auto rows = ColumnsOf(
      Columns({{"text", ColumnKind::kText}, {"ids", ColumnKind::kTokens}, {"x", ColumnKind::kAny}}),
      "[{'text': 'a', 'ids': [1, 2], 'x': {'y': 1.5}}, {'text': None, 'ids': []}]");
  ASSERT_EQ(rows->num_rows(), 2);
  EXPECT_TRUE(rows->column(0)->type()->Equals(arrow::utf8()));
  EXPECT_TRUE(rows->column(1)->type()->Equals(arrow::list(arrow::int32())));
  EXPECT_TRUE(json::IsJsonField(*rows->schema()->field(2)));
  EXPECT_TRUE(rows->column(0)->IsNull(1));
  EXPECT_TRUE(rows->column(2)->IsNull(1));
}

TEST(Rows, WholeRowsComeBackEqual) {
  const char* rows =
      "[{'a': 'x', 'b': [1, None, {'c': True}]}, {}, {'z': 1e300, 'a': 2**70, 'e': 'é\\n\"'}]";
  const auto columns = ColumnsOf(std::nullopt, rows);
  RowConverter converter;
  const nb::list back = converter.Convert(*columns, 0, columns->num_rows());
  EXPECT_TRUE(back.equal(Evaluated(rows))) << Shown(back);
  EXPECT_TRUE(converter.Convert(*columns, 2, 1)[0].equal(Evaluated(rows)[2]));
}

TEST(Rows, RowsThatWereParsedBeforeAreThoseThatAreNot) {
  const std::vector<const char*> some = {
      "[{'a': 'x\\n', 'b': [1, None, {'c': 1.5}]}, {}, {'a': 'é', 'a b': -1, 'big': 2**63}]",
      "[{'a': float('nan')}, {'a': 2**70}, {'a': 'x'}]",  // no JSON of the standard
      "[{'a': '\\ud800'}, {}]",
  };
  ParsedRows parsed;
  for (const char* rows : some) {
    for (const bool whole : {true, false}) {
      const Columns named = Columns({{"a", ColumnKind::kAny}, {"b", ColumnKind::kAny}});
      const auto columns = ColumnsOf(whole ? std::nullopt : named, rows);
      parsed.Parse(*columns);
      RowConverter converter;
      converter.Start(*columns, parsed);
      nb::list made;
      for (int64_t i = 0; i < columns->num_rows(); ++i) made.append(nb::steal(converter.Row(i)));
      const nb::list expected = RowConverter().Convert(*columns, 0, columns->num_rows());
      EXPECT_EQ(Shown(made), Shown(expected));
    }
  }
  // A slice, whose texts do not begin where the memory does.
  const auto columns = ColumnsOf(std::nullopt, some[0])->Slice(1, 2);
  parsed.Parse(*columns);
  ASSERT_NE(parsed.column(0), nullptr);
  RowConverter converter;
  converter.Start(*columns, parsed);
  (void)nb::steal(converter.Row(0));
  EXPECT_TRUE(nb::steal(converter.Row(1)).equal(Evaluated(some[0])[2]));
}

TEST(Rows, RowsBeforeOneThatCannotBeHeldStay) {
  const std::vector<Columns> all = {
      std::nullopt,
      Columns({{"text", ColumnKind::kText}, {"x", ColumnKind::kAny}, {"ids", ColumnKind::kTokens}}),
  };
  for (const Columns& columns : all) {
    RowColumns made(columns);
    ASSERT_TRUE(made.Append(Evaluated("{'text': 'a', 'x': 1, 'ids': [1]}")).ok());
    EXPECT_FALSE(made.Append(Evaluated("{'text': 'b', 'x': 2, 'ids': [1, {3}]}")).ok());
    const auto rows = made.Finish().ValueOrDie();
    EXPECT_EQ(rows->num_rows(), 1);
    EXPECT_TRUE(rows->ValidateFull().ok());
  }
}

TEST(Rows, KeysAreWrittenAsTheyAreWhereverTheyLie) {
  // More keys than are kept, made anew for each row, some of which lie where others did.
  RowColumns made(std::nullopt);
  nb::list rows;
  for (int i = 0; i < 300; ++i) {
    nb::object row = Evaluated(("{'k" + std::to_string(i % 90) + "é\"': " + std::to_string(i) +
                                ", 'a': {'k" + std::to_string(i) + "': 1}}")
                                   .c_str());
    EXPECT_TRUE(made.Append(row).ok());
    rows.append(row);
  }
  const auto columns = made.Finish().ValueOrDie();
  EXPECT_TRUE(RowConverter().Convert(*columns, 0, 300).equal(rows));
}

TEST(Rows, WhatNoColumnCanHoldIsNamed) {
  RowColumns columns(Columns({{"when", ColumnKind::kAny}}));
  const Status status = columns.Append(Evaluated("{'when': {1, 2}}"));
  EXPECT_THAT(status.message(), HasSubstr("when"));
  EXPECT_THAT(status.message(), HasSubstr("set"));
  RowColumns tokens(Columns({{"ids", ColumnKind::kTokens}}));
  EXPECT_FALSE(tokens.Append(Evaluated("{'ids': [2**31]}")).ok());
}

TEST(Rows, RowsBeginAnewAfterThoseThatAreTaken) {
  RowColumns columns(Columns({{"text", ColumnKind::kText}}));
  ASSERT_TRUE(columns.Append(Evaluated("{'text': 'a'}")).ok());
  EXPECT_EQ(columns.Finish().ValueOrDie()->num_rows(), 1);
  EXPECT_EQ(columns.num_rows(), 0);
  ASSERT_TRUE(columns.Append(Evaluated("{'text': 'b'}")).ok());
  const auto rows = columns.Finish().ValueOrDie();
  ASSERT_EQ(rows->num_rows(), 1);
  EXPECT_EQ(static_cast<const arrow::StringArray&>(*rows->column(0)).GetString(0), "b");
}

}  // namespace
}  // namespace easydata
