#include "operators/rows.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gmock/gmock.h>

#include "easydata/json/json_column.h"
#include "easydata/json/typed_text.h"
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

/// What json.dumps writes, without spaces.
std::string Dumped(nb::handle value) {
  const nb::object dumps = nb::module_::import_("json").attr("dumps");
  return nb::cast<std::string>(
      dumps(value, nb::arg("ensure_ascii") = false,
            nb::arg("separators") = nb::make_tuple(nb::str(","), nb::str(":"))));
}

TEST(Rows, PlainRowsAreWrittenAsAllOthers) {
  // Each list begins with rows of plain values; what follows is plain no more.
  const std::vector<const char*> some = {
      "[{'a': 'x', 'n': 1, 'f': 0.5, 'b': True}, {'a': 'é\\n', 'n': -2**63, 'f': 1e16, 'b': "
      "False}]",
      "[{'a': 1}, {'a': 2**63 - 1}, {'a': 2**63}, {'a': 3}]",
      "[{'a': 1}, {'a': True}, {'a': 1.0}, {'a': 'x'}, {'a': None}, {'a': [1]}]",
      "[{'a': 1, 'b': 2}, {'b': 2, 'a': 1}, {'a': 1}, {}, {'a': 1, 'b': 2, 'c': 3}]",
      "[{'a': 1.5}, {'a': float('nan')}, {'a': -0.0}]",
      "[{'a b' + 'c': 1}, {'a b' + str('c'): 2}]",
      "[{'a': 'x'}, {'a': 'x' * 1000}, {'a': type('T', (str,), {})('y')}]",
      "[{'a': (1, 2)}, {'a': 1}]",
      "[{'a': 'x'}, {'a': '\\x01inf'}]",
      "[{}, {'a': 1}]",
  };
  for (const char* source : some) {
    const nb::object rows = Evaluated(source);
    const auto whole = ColumnsOf(std::nullopt, source);
    const auto named =
        ColumnsOf(Columns({{"a", ColumnKind::kAny}, {"b", ColumnKind::kAny}}), source);
    int64_t i = 0;
    for (nb::handle row : rows) {
      EXPECT_EQ(static_cast<const arrow::StringArray&>(*whole->column(0)).GetString(i), Dumped(row))
          << source;
      for (const char* key : {"a", "b"}) {
        const auto column = named->GetColumnByName(key);
        const nb::dict fields = nb::borrow<nb::dict>(row);
        ASSERT_EQ(column->IsNull(i), !fields.contains(key)) << source << " " << i;
        if (column->IsNull(i)) continue;
        EXPECT_EQ(static_cast<const arrow::StringArray&>(*column).GetString(i),
                  Dumped(fields[key]));
      }
      ++i;
    }
    EXPECT_TRUE(whole->ValidateFull().ok());
    EXPECT_TRUE(named->ValidateFull().ok());
    // And they come back as json.loads makes them of the text.
    RowConverter converter;
    const nb::list back = converter.Convert(*whole, 0, whole->num_rows());
    for (i = 0; i < whole->num_rows(); ++i) {
      const auto text = static_cast<const arrow::StringArray&>(*whole->column(0)).GetString(i);
      EXPECT_EQ(Shown(back[i]), Shown(JsonTextToPython(text)));
    }
  }
}

TEST(Rows, PlainRowsKeepTheirValues) {
  const auto texts = [](const auto& rows, int c) -> const arrow::StringArray& {
    return static_cast<const arrow::StringArray&>(*rows->column(c));
  };
  const char* plain = "[{'a': 'x', 'b': 1}, {'a': 'y', 'b': 2}]";
  const auto whole = ColumnsOf(std::nullopt, plain);
  EXPECT_EQ(json::TypedValuesOf(texts(whole, 0))->type()->ToString(),
            "struct<a: string not null, b: int64 not null>");
  const auto named = ColumnsOf(Columns({{"b", ColumnKind::kAny}, {"c", ColumnKind::kAny}}), plain);
  EXPECT_EQ(json::TypedValuesOf(texts(named, 0))->type()->ToString(), "int64");
  EXPECT_EQ(json::TypedValuesOf(texts(named, 1)), nullptr);  // no row has it
  const auto other = ColumnsOf(std::nullopt, "[{'a': 'x'}, {'a': None}]");
  EXPECT_EQ(json::TypedValuesOf(texts(other, 0)), nullptr);
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
