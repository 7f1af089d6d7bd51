#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "easydata/record_file/array_record_writer.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string WriteRecords(const TestFolder& folder, const std::string& name,
                         const std::vector<std::string>& records, const std::string& options) {
  auto out = arrow::io::FileOutputStream::Open(folder.Path(name)).ValueOrDie();
  const auto parsed = record_file::ArrayRecordOptions::Parse(options).ValueOrDie();
  auto writer = record_file::ArrayRecordWriter::Make(out, parsed).ValueOrDie();
  for (const std::string& record : records) EXPECT_TRUE(writer->Write(record).ok());
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(out->Close().ok());
  return folder.Path(name);
}

std::vector<std::string> Texts(int count, size_t length) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(std::to_string(i) + " " + std::string(length * (i % 7), 'a' + i % 26));
  }
  return out;
}

class ArrayRecordSourceTest : public testing::TestWithParam<const char*> {};

TEST_P(ArrayRecordSourceTest, KeepsTheContract) {
  TestFolder folder;
  // Several blocks, none, and one of a few rows.
  const std::string a = WriteRecords(folder, "a.arecord", Texts(3000, 400), GetParam());
  const std::string b = WriteRecords(folder, "b.arecord", {}, GetParam());
  const std::string c = WriteRecords(folder, "c.arecord", Texts(3, 5), GetParam());
  const auto source =
      MakeArrayRecordSource(Listed({a, b, c}), "", RecordDecoding::kText).ValueOrDie();
  EXPECT_GT(source->ListBlocks(0).ValueOrDie().count, 1);
  EXPECT_EQ(source->KnownRows(0).ValueOrDie(), 3000);
  EXPECT_EQ(source->KnownRows(1).ValueOrDie(), 0);
  CheckStageContract(ContractOf(source, {}));
}

INSTANTIATE_TEST_SUITE_P(All, ArrayRecordSourceTest,
                         testing::Values("uncompressed", "group_size:100,uncompressed"));

TEST(ArrayRecordSource, KnowsTheRecordsOfAFileThatIsLost) {
  TestFolder folder;
  const std::string a = WriteRecords(folder, "a.arecord", Texts(30, 5), "uncompressed");
  const auto source = MakeArrayRecordSource(Listed({a}), "", RecordDecoding::kText).ValueOrDie();
  AllRows(ContractOf(source, {}));
  std::filesystem::remove(a);
  EXPECT_EQ(source->KnownRows(0).ValueOrDie(), 30);
}

TEST(ArrayRecordSource, JsonAndTokensKeepTheContract) {
  TestFolder folder;
  std::vector<std::string> rows;
  std::vector<std::string> tokens;
  for (int32_t i = 0; i < 2000; ++i) {
    rows.push_back("{\"n\": " + std::to_string(i) + ", \"text\": \"t\"}");
    tokens.emplace_back(reinterpret_cast<const char*>(&i), sizeof(i));
  }
  const std::string a = WriteRecords(folder, "a.arecord", rows, "group_size:16");
  const std::string b = WriteRecords(folder, "b.arecord", tokens, "group_size:16");
  CheckStageContract(
      ContractOf(MakeArrayRecordSource(Listed({a}), "", RecordDecoding::kJson).ValueOrDie(), {}));
  const auto source = MakeArrayRecordSource(Listed({b}), "", RecordDecoding::kInt32).ValueOrDie();
  CheckStageContract(ContractOf(source, {}));
  EXPECT_EQ(source->Schema({}, 0).ValueOrDie()->field(0)->name(), "input_ids");
}

TEST(ArrayRecordSource, ADamagedChunkIsItsRecordsOnly) {
  TestFolder folder;
  const auto records = Texts(1000, 50);
  const std::string path = WriteRecords(folder, "a.arecord", records, "group_size:10,uncompressed");
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  const size_t at = bytes.find(records[555]);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  folder.Write("a.arecord", bytes);
  const auto source = MakeArrayRecordSource(Listed({path}), "", RecordDecoding::kText).ValueOrDie();
  SourceStageOptions options;
  options.errors.on_error = OnError::kSkip;
  EXPECT_THAT(AllRows(ContractOf(source, options)), SizeIs(990));

  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage = ContractOf(source, {}).make(context).ValueOrDie();
  int64_t rows = 0;
  for (;;) {
    const auto batch = stage->Next();
    if (!batch.ok()) {
      EXPECT_THAT(batch.status().message(), HasSubstr("(records 550 to 559) cannot be read"));
      break;
    }
    ASSERT_TRUE(batch->has_value());
    rows += (*batch)->num_rows();
  }
  EXPECT_EQ(rows, 550);
}

TEST(ArrayRecordSource, ARecordOfOddLengthIsNoList) {
  TestFolder folder;
  const std::string path = WriteRecords(folder, "a.arecord", {"1234", "12345", ""}, "");
  const auto source =
      MakeArrayRecordSource(Listed({path}), "", RecordDecoding::kInt32).ValueOrDie();
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage = ContractOf(source, {}).make(context).ValueOrDie();
  EXPECT_EQ(stage->Next().ValueOrDie()->num_rows(), 1);
  EXPECT_THAT(stage->Next().status().message(),
              HasSubstr("a record of 5 bytes is no list of int32"));
}

}  // namespace
}  // namespace easydata::source
