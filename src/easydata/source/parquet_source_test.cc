#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <filesystem>

#include "easydata/source/file_sources.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

std::string WriteParquet(const TestFolder& folder, const std::string& name, int rows,
                         int group_rows, size_t length = 20) {
  arrow::Int64Builder numbers;
  arrow::StringBuilder texts;
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  for (int i = 0; i < rows; ++i) {
    EXPECT_TRUE(numbers.Append(i).ok());
    EXPECT_TRUE(texts.Append(std::to_string(i) + std::string(length, 'a' + i % 26)).ok());
    EXPECT_TRUE(lists.Append().ok());
    for (int k = 0; k < i % 4; ++k) {
      EXPECT_TRUE(static_cast<arrow::Int32Builder*>(lists.value_builder())->Append(k).ok());
    }
  }
  auto table = arrow::Table::Make(
      arrow::schema({arrow::field("n", arrow::int64()), arrow::field("text", arrow::utf8()),
                     arrow::field("ids", arrow::list(arrow::int32()))}),
      {numbers.Finish().ValueOrDie(), texts.Finish().ValueOrDie(), lists.Finish().ValueOrDie()});
  auto out = arrow::io::FileOutputStream::Open(folder.Path(name)).ValueOrDie();
  EXPECT_TRUE(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, group_rows).ok());
  EXPECT_TRUE(out->Close().ok());
  return folder.Path(name);
}

SourceStageOptions Columns3(std::vector<std::string> names) {
  SourceStageOptions options;
  options.columns.emplace();
  for (auto& name : names) options.columns->push_back({std::move(name), ColumnKind::kAny});
  return options;
}

TEST(ParquetSourceTest, KeepsTheContract) {
  TestFolder folder;
  const std::string a = WriteParquet(folder, "a.parquet", 1000, 100);
  const std::string b = WriteParquet(folder, "b.parquet", 0, 100);
  const std::string c = WriteParquet(folder, "c.parquet", 3, 1);
  auto source = MakeParquetSource(Listed({a, b, c})).ValueOrDie();
  CheckStageContract(ContractOf(source, Columns3({"text", "ids"})));
  CheckStageContract(ContractOf(source, {}));
}

TEST(ParquetSourceTest, KeepsTheContractWhereRowGroupsAreCut) {
  TestFolder folder;
  // About 20 MB and 12 MB of text: decoded in slices.
  const std::string a = WriteParquet(folder, "a.parquet", 32000, 20000, 1000);
  auto source = MakeParquetSource(Listed({a})).ValueOrDie();
  const auto contract = ContractOf(source, Columns3({"text"}));
  CheckStageContract(contract);
  const auto whole = AllRows(contract);
  ASSERT_EQ(whole.size(), 32000u);
  EXPECT_NE(whole[25000].find("text=25000"), std::string::npos);
  for (int64_t row : {1, 5000, 19999, 20000, 31999, 32000, 99999}) {
    SourceStageOptions options = Columns3({"text"});
    options.start_row = row;
    const auto rest = AllRows(ContractOf(source, options));
    const auto begin = whole.begin() + std::min<int64_t>(row, 32000);
    EXPECT_EQ(rest, std::vector<std::string>(begin, whole.end())) << row;
  }
}

TEST(ParquetSourceTest, KnowsTheRowsOfAFileThatIsLost) {
  TestFolder folder;
  const std::string a = WriteParquet(folder, "a.parquet", 30, 10);
  auto source = MakeParquetSource(Listed({a})).ValueOrDie();
  AllRows(ContractOf(source, {}));
  std::filesystem::remove(a);
  EXPECT_EQ(source->KnownRows(0).ValueOrDie(), 30);
}

TEST(ParquetSourceTest, TakesBlocksThatAnotherProcessFound) {
  TestFolder folder;
  auto files = Listed({WriteParquet(folder, "a.parquet", 30, 10)});
  const auto found = MakeParquetSource(files).ValueOrDie()->ListBlocks(0).ValueOrDie();
  files[0].row_starts = std::make_shared<const std::vector<int64_t>>(found.row_starts);
  std::filesystem::remove(files[0].uri);
  const auto told = MakeParquetSource(files).ValueOrDie();
  EXPECT_EQ(told->KnownRows(0).ValueOrDie(), 30);
  EXPECT_EQ(told->ListBlocks(0).ValueOrDie().count, 3);
  EXPECT_EQ(told->ListBlocks(0).ValueOrDie().row_starts, found.row_starts);
}

TEST(ParquetSourceTest, StartsAtAnyRow) {
  TestFolder folder;
  const std::string a = WriteParquet(folder, "a.parquet", 30, 10);
  auto source = MakeParquetSource(Listed({a})).ValueOrDie();
  const auto whole = AllRows(ContractOf(source, {}));
  for (int64_t row = 0; row <= 31; ++row) {
    SourceStageOptions options;
    options.start_row = row;
    const auto rest = AllRows(ContractOf(source, options));
    const auto begin = whole.begin() + std::min<int64_t>(row, 30);
    EXPECT_EQ(rest, std::vector<std::string>(begin, whole.end())) << row;
  }
}

TEST(ParquetSourceTest, MissingColumnIsNamedWithWhatIsNear) {
  TestFolder folder;
  auto source = MakeParquetSource(Listed({WriteParquet(folder, "a.parquet", 3, 3)})).ValueOrDie();
  const Status error = source->Schema({{{"texr", ColumnKind::kText}}}, 0).status();
  EXPECT_TRUE(error.IsKeyError());
  EXPECT_NE(error.message().find("no column \"texr\"; did you mean text?"), std::string::npos)
      << error;
}

TEST(ParquetSourceTest, CutFileIsAnErrorThatNamesIt) {
  TestFolder folder;
  const std::string a = WriteParquet(folder, "a.parquet", 1000, 100);
  const std::string b = WriteParquet(folder, "b.parquet", 1000, 100);
  std::filesystem::resize_file(b, std::filesystem::file_size(b) / 2);
  const Status error =
      CheckErrorContract(ContractOf(MakeParquetSource(Listed({a, b})).ValueOrDie(), {}), 1000);
  EXPECT_NE(error.message().find(b + " is not a whole Parquet file"), std::string::npos) << error;
}

TEST(ParquetSourceTest, DamagedPageComesAfterTheRowsBeforeIt) {
  TestFolder folder;
  const std::string a = WriteParquet(folder, "a.parquet", 1000, 100, 200);
  {
    std::fstream file(a, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::filesystem::file_size(a) / 2);
    file << std::string(400, '\xff');
  }
  auto contract = ContractOf(MakeParquetSource(Listed({a})).ValueOrDie(), Columns3({"text"}));
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage = contract.make(context).ValueOrDie();
  Status error;
  int64_t rows = 0;
  for (;;) {
    auto batch = stage->Next();
    error = batch.status();
    if (!batch.ok() || !batch->has_value()) break;
    rows += (*batch)->num_rows();
  }
  if (!error.ok()) {  // the bytes may have hit the text itself, which has no check sum
    EXPECT_NE(error.message().find(a), std::string::npos) << error;
    EXPECT_EQ(rows % 100, 0);
  }
}

}  // namespace
}  // namespace easydata::source
