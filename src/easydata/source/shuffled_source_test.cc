#include <arrow/builder.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "easydata/base/recorded_values.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

using ::testing::HasSubstr;

// Rows `first` .. `first + rows`, each its number.
std::shared_ptr<arrow::RecordBatch> Numbers(int64_t first, int64_t rows) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < rows; ++i) EXPECT_TRUE(builder.Append(first + i).ok());
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("n", arrow::int64())}), rows,
                                  {builder.Finish().ValueOrDie()});
}

std::string WriteRowGroups(const TestFolder& folder, const std::string& name, int64_t first,
                           int64_t rows, int64_t group_rows) {
  auto table = arrow::Table::FromRecordBatches({Numbers(first, rows)}).ValueOrDie();
  auto out = arrow::io::FileOutputStream::Open(folder.Path(name)).ValueOrDie();
  EXPECT_TRUE(
      parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, group_rows).ok());
  EXPECT_TRUE(out->Close().ok());
  return folder.Path(name);
}

std::string WriteArrowFile(const TestFolder& folder, const std::string& name, int64_t first,
                           int64_t rows, int64_t batch_rows) {
  auto out = arrow::io::FileOutputStream::Open(folder.Path(name)).ValueOrDie();
  auto writer = arrow::ipc::MakeFileWriter(out, Numbers(0, 0)->schema()).ValueOrDie();
  for (int64_t at = 0; at < rows; at += batch_rows) {
    auto batch = Numbers(first + at, std::min(batch_rows, rows - at));
    EXPECT_TRUE(writer->WriteRecordBatch(*batch).ok());
  }
  EXPECT_TRUE(writer->Close().ok());
  EXPECT_TRUE(out->Close().ok());
  return folder.Path(name);
}

// Lines of about 2 KB, so that chunks hold some 500 of them.
std::string WriteLines(const TestFolder& folder, const std::string& name, int64_t first,
                       int64_t rows) {
  std::string text;
  std::mt19937 random(static_cast<unsigned>(first + 1));
  for (int64_t i = 0; i < rows; ++i) {
    text += R"({"n": )" + std::to_string(first + i) + R"(, "pad": ")" +
            std::string(random() % 4000, 'x') + "\"}\n";
    if (i % 7 == 0) text += "\n";
  }
  return folder.Write(name, text);
}

SourceStageOptions Shuffled(SourceShuffle mode, uint64_t seed = 0) {
  SourceStageOptions options;
  options.columns = {{{"n", ColumnKind::kAny}}};
  options.shuffle.mode = mode;
  options.shuffle.seed = seed;
  return options;
}

// The numbers of a pass, in its order.
std::vector<int64_t> Pass(const std::shared_ptr<const Source>& source,
                          const SourceStageOptions& options, int64_t epoch = 0) {
  StageContext context;
  context.epoch = epoch;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage = ContractOf(source, options).make(context).ValueOrDie();
  std::vector<int64_t> out;
  for (;;) {
    auto batch = stage->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) return out;
    for (const std::string& row : DescribeRows(**batch)) {
      const size_t at = row.find("n=") + 2;
      out.push_back(std::stoll(row.substr(row[at] == '"' ? at + 1 : at)));
    }
  }
}

struct Format {
  const char* name;
  std::function<std::shared_ptr<const Source>(const TestFolder&)> make;
  int64_t rows;
  int64_t blocks;
};

std::vector<Format> Formats() {
  return {
      {"parquet",
       [](const TestFolder& folder) {
         return MakeParquetSource(Listed({WriteRowGroups(folder, "a.parquet", 0, 1000, 100),
                                          WriteRowGroups(folder, "b.parquet", 1000, 0, 10),
                                          WriteRowGroups(folder, "c.parquet", 1000, 501, 50)}))
             .ValueOrDie();
       },
       1501, 21},
      {"arrow",
       [](const TestFolder& folder) {
         return MakeArrowSource(Listed({WriteArrowFile(folder, "a.arrow", 0, 1000, 100),
                                        WriteArrowFile(folder, "b.arrow", 1000, 501, 50)}))
             .ValueOrDie();
       },
       1501, 21},
      {"lines",
       [](const TestFolder& folder) {
         return MakeJsonSource(Listed({WriteLines(folder, "a.jsonl", 0, 4000),
                                       WriteLines(folder, "b.jsonl", 4000, 3000)}),
                               JsonLayout::kLines)
             .ValueOrDie();
       },
       7000, 14},
  };
}

TEST(ShuffledSourceTest, KeepsTheContract) {
  for (const Format& format : Formats()) {
    SCOPED_TRACE(format.name);
    TestFolder folder;
    const auto source = format.make(folder);
    for (const auto mode : {SourceShuffle::kBlocks, SourceShuffle::kRows, SourceShuffle::kGrain}) {
      SCOPED_TRACE(static_cast<int>(mode));
      CheckStageContract(ContractOf(source, Shuffled(mode, 3)));
    }
  }
}

TEST(ShuffledSourceTest, GivesEachRowOnceInAnOrderPerSeedAndEpoch) {
  for (const Format& format : Formats()) {
    SCOPED_TRACE(format.name);
    TestFolder folder;
    const auto source = format.make(folder);
    for (const auto mode : {SourceShuffle::kBlocks, SourceShuffle::kRows, SourceShuffle::kGrain}) {
      SCOPED_TRACE(static_cast<int>(mode));
      std::set<std::vector<int64_t>> orders;
      for (const auto& [seed, epoch] : {std::pair{0, 0}, {0, 1}, {9, 0}, {9, 5}}) {
        auto order = Pass(source, Shuffled(mode, seed), epoch);
        EXPECT_EQ(order, Pass(source, Shuffled(mode, seed), epoch));
        orders.insert(order);
        std::sort(order.begin(), order.end());
        ASSERT_EQ(static_cast<int64_t>(order.size()), format.rows);
        for (int64_t i = 0; i < format.rows; ++i) ASSERT_EQ(order[i], i);
      }
      EXPECT_EQ(orders.size(), 4u);
    }
  }
}

TEST(ShuffledSourceTest, BlocksKeepTheirRowsTogether) {
  for (const Format& format : Formats()) {
    SCOPED_TRACE(format.name);
    TestFolder folder;
    const auto order = Pass(format.make(folder), Shuffled(SourceShuffle::kBlocks, 1));
    int64_t runs = 1;
    for (size_t i = 1; i < order.size(); ++i) runs += order[i] != order[i - 1] + 1 ? 1 : 0;
    EXPECT_LE(runs, format.blocks);
    EXPECT_GT(runs, format.blocks / 2);
  }
}

TEST(ShuffledSourceTest, WindowEndsAtItsBytes) {
  TestFolder folder;
  auto source =
      MakeParquetSource(Listed({WriteRowGroups(folder, "a.parquet", 0, 4000, 100)})).ValueOrDie();
  SourceStageOptions options = Shuffled(SourceShuffle::kRows);
  options.shuffle.window_bytes = 500 * 8;
  CheckStageContract(ContractOf(source, options));
  const auto blocks = Pass(source, Shuffled(SourceShuffle::kBlocks));
  const auto rows = Pass(source, options);
  for (size_t begin = 0; begin < rows.size(); begin += 500) {
    ASSERT_LE(begin + 500, rows.size());
    const std::vector<int64_t> window(rows.begin() + begin, rows.begin() + begin + 500);
    EXPECT_THAT(window, ::testing::UnorderedElementsAreArray(std::vector<int64_t>(
                            blocks.begin() + begin, blocks.begin() + begin + 500)));
    EXPECT_FALSE(std::is_sorted(window.begin(), window.end()));
  }
}

using ShuffledSourceRecordedTest = RecordedValuesTest;
INSTANTIATE_TEST_SUITE_P(By, ShuffledSourceRecordedTest, BothRecorders(), RecorderName);

// `MapDataset.source(...).shuffle(seed).repeat(epochs)`, recorded.
TEST_P(ShuffledSourceRecordedTest, GrainOrderIsThatOfGrain) {
  TestFolder folder;
  int compared = 0;
  const auto recorded = Read("grain/shuffle.json");
  for (const auto& one : recorded["cases"]) {
    if (one["name"] != "range(n).shuffle(seed=s).repeat(E)") continue;
    const auto n = one["n"].get<int64_t>();
    const auto name = "n" + std::to_string(n) + ".parquet";
    auto source =
        MakeParquetSource(Listed({WriteRowGroups(folder, "1" + name, 0, n / 3, 7),
                                  WriteRowGroups(folder, "2" + name, n / 3, n - n / 3, 90)}))
            .ValueOrDie();
    std::vector<int64_t> order;
    for (int64_t epoch = 0; epoch < one["epochs"].get<int64_t>(); ++epoch) {
      for (int64_t row : Pass(source, Shuffled(SourceShuffle::kGrain, one["seed"]), epoch)) {
        order.push_back(row);
      }
    }
    ASSERT_EQ(order, one["order"].get<std::vector<int64_t>>()) << one["n"] << " " << one["seed"];
    ++compared;
  }
  EXPECT_EQ(compared, Own() ? 8 : 18);
}

TEST(ShuffledSourceTest, ManyShardsAreDrawnInGroups) {
  TestFolder folder;
  std::vector<std::string> files;
  for (int i = 0; i < 200; ++i) {
    files.push_back(WriteRowGroups(folder, std::to_string(1000 + i), i * 20, 20, 10));
  }
  const auto source = MakeParquetSource(Listed(files)).ValueOrDie();
  CheckStageContract(ContractOf(source, Shuffled(SourceShuffle::kBlocks)));
  auto order = Pass(source, Shuffled(SourceShuffle::kBlocks));
  std::set<int64_t> early;  // shards among the first 64 * 2 blocks
  for (size_t i = 0; i < 64 * 2 * 10; ++i) early.insert(order[i] / 20);
  EXPECT_EQ(early.size(), 64u);
  EXPECT_GT(*early.rbegin(), 150);
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 4000; ++i) ASSERT_EQ(order[i], i);
}

// What each lane gives, as one list of all lanes.
std::vector<std::string> RowsOfLanes(const std::shared_ptr<const Source>& source,
                                     const SourceStageOptions& options, int64_t lanes,
                                     std::vector<size_t>* sizes) {
  std::vector<std::string> all;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    StageContract contract = ContractOf(source, options);
    contract.finds_rows = false;  // nor rows that were partitioned one by one
    contract.make = [make = contract.make, lane, lanes](StageContext context) {
      context.lane = lane;
      context.lanes = lanes;
      return make(context);
    };
    if (lane == 1) CheckStageContract(contract);
    const auto rows = AllRows(contract);
    sizes->push_back(rows.size());
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

TEST(LanesTest, ShareARowExactlyOnce) {
  for (const Format& format : Formats()) {
    TestFolder folder;
    const auto source = format.make(folder);
    for (const auto mode : {SourceShuffle::kNone, SourceShuffle::kBlocks, SourceShuffle::kRows,
                            SourceShuffle::kGrain}) {
      std::vector<std::string> whole;
      std::vector<size_t> sizes;
      // By shards where these are enough, by blocks, by rows.
      for (const int64_t lanes : {1, 2, 8}) {
        SCOPED_TRACE(std::string(format.name) + " " + std::to_string(static_cast<int>(mode)) + " " +
                     std::to_string(lanes));
        sizes.clear();
        auto rows = RowsOfLanes(source, Shuffled(mode, 3), lanes, &sizes);
        // Rows of a chunk of lines that is read by itself are counted from its byte.
        for (std::string& row : rows) row.resize(row.find(' '));
        std::sort(rows.begin(), rows.end());
        if (lanes == 1) whole = rows;
        EXPECT_EQ(rows, whole);
        EXPECT_EQ(static_cast<int64_t>(rows.size()), format.rows);
        // Partitioned by blocks or rows, lanes are about equally long.
        if (lanes == 8) {
          EXPECT_GT(*std::min_element(sizes.begin(), sizes.end()),
                    static_cast<size_t>(format.rows / 8 / 2));
        }
      }
    }
  }
}

TEST(ShuffledSourceTest, RowsOfALaterChunkAreCountedFromItsByte) {
  TestFolder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += R"({"n": 1, "pad": ")" + std::string(1000, 'x') + "\"}\n";
  // In the last chunk: byte 2^21 and on.
  text +=
      "{broken\n"
      R"({"n": 2})"
      "\n";
  const auto source =
      MakeJsonSource(Listed({folder.Write("a.jsonl", text)}), JsonLayout::kLines).ValueOrDie();
  auto contract = ContractOf(source, Shuffled(SourceShuffle::kBlocks));
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage = contract.make(context).ValueOrDie();
  Status error;
  nlohmann::json cursor;
  while (error.ok()) {
    auto batch = stage->Next();
    error = batch.status();
    ASSERT_TRUE(!batch.ok() || batch->has_value());
    if (batch.ok()) {
      cursor = stage->Save().ToJson();
    }
  }
  EXPECT_THAT(error.message(), HasSubstr("a.jsonl@2097152 row "));
  // Once the row is fixed, the stream goes on with it.
  std::string mended = text;
  mended.replace(mended.find("{broken"), 7, "{\"n\":7}");
  const auto other =
      MakeJsonSource(Listed({folder.Write("a.jsonl", mended)}), JsonLayout::kLines).ValueOrDie();
  auto rest = ContractOf(other, Shuffled(SourceShuffle::kBlocks)).make(context).ValueOrDie();
  ASSERT_TRUE(rest->Restore(cursor).ok());
  auto batch = rest->Next().ValueOrDie();
  while (batch.has_value() && batch->num_rows() == 0) batch = rest->Next().ValueOrDie();
  ASSERT_TRUE(batch.has_value());
  EXPECT_THAT(DescribeRows(*batch)[0], HasSubstr("n=7 ")) << DescribeRows(*batch)[0];
}

TEST(ShuffledSourceTest, RefusesWhatItCannotDo) {
  TestFolder folder;
  auto source =
      MakeParquetSource(Listed({WriteRowGroups(folder, "a.parquet", 0, 10, 5)})).ValueOrDie();
  SourceStageOptions options = Shuffled(SourceShuffle::kBlocks);
  options.start_row = 3;
  EXPECT_THAT(SourcePlan(source, options).status().message(), HasSubstr("read as a whole"));
  options = Shuffled(SourceShuffle::kGrain);
  options.errors.on_error = OnError::kSkip;
  EXPECT_THAT(SourcePlan(source, options).status().message(), HasSubstr("in its place"));
  EXPECT_THAT(ParseName(NamesOf(SourceShuffle{}), "mode", "row").status().message(),
              HasSubstr("\"row\""));
  options = Shuffled(SourceShuffle::kGrain);
  options.shuffle.seed = (uint64_t{1} << 32) - 1;
  EXPECT_TRUE(SourcePlan(source, options).ok());
  options.shuffle.seed += 1;
  EXPECT_THAT(
      SourcePlan(source, options).status().message(),
      HasSubstr("seed must be below 2^32, as Grain's order has no more bits; it is 4294967296"));
  options = Shuffled(SourceShuffle::kRows);
  options.shuffle.window_bytes = 0;
  EXPECT_THAT(SourcePlan(source, options).status().message(), HasSubstr("window_bytes must be"));
  options = Shuffled(SourceShuffle::kBlocks);
  options.shuffle.window_bytes = 1;
  EXPECT_THAT(SourcePlan(source, options).status().message(), HasSubstr("is for mode \"rows\""));
}

}  // namespace
}  // namespace easydata::source
