#include "easydata/stream/row_reader.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "easydata/stream/memory_stage.h"

namespace easydata {
namespace {

/// A reader of the numbers 0 .. 6 in batches of 3, none, 3 and 1 rows.
RowReader SevenNumbers() {
  auto schema = arrow::schema({arrow::field("n", arrow::int64())});
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  int64_t next = 0;
  for (int64_t rows : {3, 0, 3, 1}) {
    arrow::Int64Builder values;
    for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE(values.Append(next++).ok());
    batches.push_back(arrow::RecordBatch::Make(schema, rows, {values.Finish().ValueOrDie()}));
  }
  return RowReader(MakeMemoryStage(std::move(batches), schema, "s", "m").ValueOrDie());
}

/// The numbers of the next `size` rows, fewer at the end.
std::vector<int64_t> Take(RowReader* reader, int64_t size) {
  RowWindow window;
  const auto more = [&](int64_t row) { return std::ssize(window.rows) < size; };
  while (more(0) && reader->Hold().ValueOrDie()) reader->TakeInto(&window, more);
  std::vector<int64_t> numbers;
  for (const RowRef& row : window.rows) {
    const auto& values =
        static_cast<const arrow::Int64Array&>(*window.parts[row.part]->rows->column(0));
    numbers.push_back(values.Value(row.row));
  }
  return numbers;
}

TEST(RowReaderTest, WindowsAreCutWhereverBatchesEnd) {
  RowReader reader = SevenNumbers();
  EXPECT_EQ(Take(&reader, 2), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(Take(&reader, 3), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(Take(&reader, 5), (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(Take(&reader, 5), std::vector<int64_t>());
}

TEST(RowReaderTest, GoesOnFromEveryPosition) {
  for (int64_t taken = 0; taken <= 7; ++taken) {
    RowReader reader = SevenNumbers();
    ASSERT_EQ(std::ssize(Take(&reader, taken)), taken);
    const nlohmann::json saved = reader.Save().ToJson();
    RowReader restored = SevenNumbers();
    ASSERT_TRUE(restored.Restore(ReadPosition::FromJson(saved)).ok());
    EXPECT_EQ(restored.Save().ToJson(), saved);
    EXPECT_EQ(Take(&restored, 7), Take(&reader, 7)) << saved;
  }
}

TEST(RowReaderTest, SaysThatTheStreamEndsBeforeTheSavedPosition) {
  RowReader reader = SevenNumbers();
  nlohmann::json saved = reader.Save().ToJson();
  saved["records"] = 9;
  ASSERT_TRUE(reader.Restore(ReadPosition::FromJson(saved)).ok());
  const Status refused = reader.Hold().status();
  EXPECT_NE(refused.message().find("it ends 2 rows before it"), std::string::npos) << refused;
}

}  // namespace
}  // namespace easydata
