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
