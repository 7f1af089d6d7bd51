#include "easydata/plan/one_shard.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "easydata/json/json_text.h"
#include "easydata/plan/file_rows.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/test_files.h"

namespace easydata::plan {
namespace {

using ::testing::HasSubstr;
using Ranges = std::optional<std::vector<RowRange>>;
using SourcePtr = std::shared_ptr<const source::Source>;
using Numbers = std::vector<int64_t>;

constexpr const char* kName = "org/name:train";

Numbers From(int64_t begin, int64_t end) {
  Numbers numbers(static_cast<size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

/// The numbers of rows that a stream gives, in its order.
Numbers Read(const StreamPlan& plan, int64_t lane = 0, int64_t lanes = 1, int64_t epoch = 0) {
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(1);
  context.lane = lane;
  context.lanes = lanes;
  context.epoch = epoch;
  auto stage = plan.make(context).ValueOrDie();
  std::string lines;
  for (;;) {
    auto batch = stage->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) break;
    EXPECT_TRUE(json::AppendJsonLines(*(*batch)->rows, &lines).ok());
  }
  Numbers numbers;
  for (size_t at = 0; at < lines.size(); at = lines.find('\n', at) + 1) {
    numbers.push_back(nlohmann::json::parse(lines.substr(at, lines.find('\n', at) - at)).at("n"));
  }
  return numbers;
}

/// Twelve rows, numbered, in files of which the second one is empty.
class OneShardTest : public ::testing::TestWithParam<bool> {
 protected:
  OneShardTest() {
    std::vector<std::string> paths;
    int64_t next = 0;
    for (const int64_t rows : {4, 0, 5, 3}) {
      paths.push_back(Write(std::to_string(paths.size()), From(next, next + rows)));
      next += rows;
    }
    source_ = IsArrow() ? source::MakeArrowSource(source::Listed(paths)).ValueOrDie()
                        : source::MakeJsonSource(source::Listed(paths), source::JsonLayout::kLines)
                              .ValueOrDie();
  }

  static bool IsArrow() { return GetParam(); }

  std::string Write(const std::string& name, const Numbers& numbers) const {
    std::string lines;
    for (const int64_t n : numbers) lines += "{\"n\": " + std::to_string(n) + "}\n";
    if (!IsArrow()) return folder_.Write(name + ".jsonl", lines);
    arrow::Int64Builder builder;
    EXPECT_TRUE(builder.AppendValues(numbers).ok());
    const auto schema = arrow::schema({arrow::field("n", arrow::int64())});
    const auto table = arrow::Table::Make(schema, {builder.Finish().ValueOrDie()});
    const std::string path = folder_.Path(name + ".arrow");
    auto out = arrow::io::FileOutputStream::Open(path).ValueOrDie();
    auto writer = arrow::ipc::MakeFileWriter(out, schema).ValueOrDie();
    EXPECT_TRUE(writer->WriteTable(*table, /*max_chunksize=*/2).ok());
    EXPECT_TRUE(writer->Close().ok());
    EXPECT_TRUE(out->Close().ok());
    return path;
  }

  LogicalPlanPtr Files() const { return FileRows(source_, {}, std::nullopt); }
  LogicalPlanPtr Shard(const Ranges& ranges = std::nullopt, LogicalPlanPtr rows = nullptr) const {
    return OneShard(Files(), source_, kName, ranges, std::move(rows));
  }
  static StreamPlan Made(const LogicalPlanPtr& plan, int64_t start_row = 0) {
    Request request;
    request.start_row = start_row;
    return plan->Make(request).ValueOrDie();
  }

  const source::TestFolder folder_;
  SourcePtr source_;
};

TEST_P(OneShardTest, GivesTheRowsOfAllFiles) {
  EXPECT_EQ(Read(Made(Shard())), From(0, 12));
  // As a plan it is the files': states of one are states of the other.
  EXPECT_EQ(Describe(*Made(Shard()).node), Describe(*Made(Files()).node));
}

TEST_P(OneShardTest, BeginsAtAnyRow) {
  for (int64_t row = 0; row <= 13; ++row) {
    EXPECT_EQ(Read(Made(Shard(), row)), From(std::min<int64_t>(row, 12), 12)) << row;
  }
  EXPECT_TRUE(Shard()->CanSeek());
}

TEST_P(OneShardTest, GivesRangesOneAfterTheOther) {
  const std::pair<Ranges, Numbers> cases[] = {
      {{{{0, 12}}}, From(0, 12)},
      {{{{0, 1}}}, {0}},
      {{{{3, 6}}}, {3, 4, 5}},
      {{{{4, 9}}}, From(4, 9)},
      {{{{8, 12}, {0, 2}}}, {8, 9, 10, 11, 0, 1}},
      {{{{1, 3}, {2, 5}}}, {1, 2, 2, 3, 4}},
      {{{{5, 5}, {10, 12}}}, {10, 11}},
      {{{{10, 12}, {5, 5}}}, {10, 11}},
      {{{{0, 1}, {3, 3}, {11, 12}}}, {0, 11}},
      {{{{2, 2}}}, {}},
      {{{{12, 12}}}, {}},
  };
  for (const auto& [ranges, expected] : cases) {
    const LogicalPlanPtr plan = Shard(ranges);
    EXPECT_EQ(Read(Made(plan)), expected);
    for (size_t row = 0; row <= expected.size(); ++row) {
      const Numbers rest(expected.begin() + static_cast<std::ptrdiff_t>(row), expected.end());
      EXPECT_EQ(Read(Made(plan, static_cast<int64_t>(row))), rest) << row;
    }
  }
}

TEST_P(OneShardTest, LanesPartitionTheRows) {
  for (const Ranges& ranges : {Ranges(), Ranges({{1, 7}, {6, 12}})}) {
    const StreamPlan plan = Made(Shard(ranges));
    Numbers all;
    for (int64_t lane = 0; lane < 3; ++lane) {
      const Numbers some = Read(plan, lane, 3);
      all.insert(all.end(), some.begin(), some.end());
    }
    Numbers expected = Read(plan);
    std::sort(all.begin(), all.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(all, expected);
  }
}

TEST_P(OneShardTest, IsShuffledByTheBlocksOfItsFiles) {
  source::SourceShuffleOptions order;
  order.mode = source::SourceShuffle::kBlocks;
  order.seed = 3;
  const StreamPlan shuffled = Shard()->MakeShuffled({}, order).ValueOrDie();
  EXPECT_EQ(Read(shuffled), Read(Files()->MakeShuffled({}, order).ValueOrDie()));
  Numbers sorted = Read(shuffled, 0, 1, 1);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, From(0, 12));
}

TEST_P(OneShardTest, RangesAreShuffledByWhatReadsThemRowByRow) {
  source::SourceShuffleOptions order;
  order.mode = source::SourceShuffle::kBlocks;
  const Ranges ranges = {{{1, 4}}};
  EXPECT_TRUE(Shard(ranges)->MakeShuffled({}, order).status().IsNotImplemented());
  // What it is handed here is another plan, whose rows tell it.
  const StreamPlan shuffled = Shard(ranges, Files())->MakeShuffled({}, order).ValueOrDie();
  EXPECT_EQ(Read(shuffled).size(), 12U);
}

TEST_P(OneShardTest, HasOneShard) {
  Request request;
  request.shards = {kName};
  EXPECT_EQ(Read(Shard()->Make(request).ValueOrDie()), From(0, 12));
  EXPECT_EQ(Read(Shard()->MakeShuffled(request, {}).ValueOrDie()), From(0, 12));
  request.shards = {source_->shard_names()[0]};
  for (const Ranges& ranges : {Ranges(), Ranges({{1, 4}})}) {
    EXPECT_TRUE(Shard(ranges)->Make(request).status().IsKeyError());
    const Status status = Shard(ranges)->MakeShuffled(request, {}).status();
    EXPECT_TRUE(status.IsKeyError());
    EXPECT_THAT(status.message(), HasSubstr(kName));
  }
}

TEST_P(OneShardTest, HasTheColumnsOfItsFiles) {
  const auto schema = Made(Files()).schema().ValueOrDie();
  for (const Ranges& ranges : {Ranges(), Ranges({{1, 4}}), Ranges({{1, 4}, {5, 6}}),
                               Ranges({{3, 3}}), Ranges({{0, 0}, {12, 12}})}) {
    EXPECT_TRUE(Made(Shard(ranges)).schema().ValueOrDie()->Equals(*schema));
  }
  EXPECT_EQ(Shard()->Peek(1).ValueOrDie()->num_rows, 1);
  EXPECT_FALSE(Shard(Ranges({{1, 4}}))->Peek(1).ValueOrDie().has_value());
}

INSTANTIATE_TEST_SUITE_P(Formats, OneShardTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Arrow" : "Jsonl"; });

}  // namespace
}  // namespace easydata::plan
