#include "easydata/source/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "easydata/source/file_sources.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

std::string LinesOfWidth(int first, int count, size_t width) {
  std::string text;
  for (int i = first; i < first + count; ++i) {
    std::string line = "line " + std::to_string(i);
    line.resize(width - 1, '.');
    text += line + "\n";
  }
  return text;
}

constexpr int64_t kMegabyte = 1 << 20;

class Units : public ::testing::Test {
 protected:
  /// Three small files around one of 24 MB.
  void SetUp() override {
    std::vector<std::string> paths;
    for (const auto& [name, count] : std::vector<std::pair<std::string, int>>{
             {"a.txt", 1000}, {"b.txt", 2000}, {"c.txt", 6 * (1 << 16)}, {"d.txt", 500}}) {
      paths.push_back(folder_.Write(name, LinesOfWidth(num_lines_, count, 64)));
      num_lines_ += count;
    }
    source_ = MakeTextSource(Listed(paths), "text").ValueOrDie();
    plan_ = SourcePlan(source_, {}).ValueOrDie();
  }

  std::vector<std::string> RowsOf(std::shared_ptr<const Unit> unit) const {
    StageContract contract;
    contract.make = [this, unit](StageContext context) {
      context.unit = unit;
      return plan_.make(context);
    };
    return AllRows(contract);
  }

  TestFolder folder_;
  int num_lines_ = 0;
  std::shared_ptr<const Source> source_;
  StreamPlan plan_;
};

TEST_F(Units, PutSmallFilesTogetherAndCutLargeOnes) {
  const auto units = plan_.facts().divide(8 * kMegabyte).ValueOrDie();
  ASSERT_EQ(units.size(), 5u);
  EXPECT_EQ(units[0].runs, (std::vector<BlockRun>{{0, 0, -1}, {1, 0, -1}}));
  EXPECT_EQ(units[0].bytes, 3000 * 64);
  EXPECT_EQ(units[4].runs, (std::vector<BlockRun>{{3, 0, -1}}));
  int64_t next = 0;
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(units[i].runs.size(), 1u);
    EXPECT_EQ(units[i].runs[0].shard, 2u);
    EXPECT_EQ(units[i].runs[0].begin, next);
    EXPECT_GT(units[i].runs[0].end, next);
    next = units[i].runs[0].end;
    EXPECT_EQ(units[i].number, i);
  }
  EXPECT_EQ(next, source_->ListBlocks(2).ValueOrDie().count);

  EXPECT_EQ(plan_.facts().divide(int64_t{1} << 40).ValueOrDie().size(), 1u);
  // No more units than blocks.
  const auto smallest = plan_.facts().divide(1).ValueOrDie();
  EXPECT_EQ(static_cast<int64_t>(smallest.size()), 3 + next);
}

TEST_F(Units, HaveAllRowsInTheirOrder) {
  const std::vector<std::string> whole = RowsOf(nullptr);
  ASSERT_EQ(static_cast<int>(whole.size()), num_lines_);
  for (const int64_t bytes : {kMegabyte, 8 * kMegabyte, 100 * kMegabyte}) {
    std::vector<std::string> rows;
    for (const Unit& unit : plan_.facts().divide(bytes).ValueOrDie()) {
      const auto of_unit = RowsOf(std::make_shared<const Unit>(unit));
      rows.insert(rows.end(), of_unit.begin(), of_unit.end());
    }
    ASSERT_EQ(rows.size(), whole.size());
    // Rows within a file of text are addressed from where their block begins.
    const auto text = [](const std::string& row) { return row.substr(0, row.find('@')); };
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(text(rows[i]), text(whole[i])) << i;
  }
}

TEST_F(Units, OfOtherFilesAreRefused) {
  for (const BlockRun& run : {BlockRun{9, 0, -1}, BlockRun{2, 0, 1000}, BlockRun{2, 3, 3}}) {
    StageContext context;
    context.pool = std::make_shared<exec::ThreadPool>(1);
    context.unit = std::make_shared<const Unit>(Unit{0, {run}, 1});
    auto stage = plan_.make(context).ValueOrDie();
    const auto batch = stage->Next();
    ASSERT_FALSE(batch.ok());
    EXPECT_NE(batch.status().message().find("files were changed"), std::string::npos);
  }
}

TEST_F(Units, GoOnWhereTheyStood) {
  StageContract contract;
  const auto units = plan_.facts().divide(8 * kMegabyte).ValueOrDie();
  const auto unit = std::make_shared<const Unit>(units[2]);
  const std::vector<std::string> whole = RowsOf(unit);
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  context.unit = unit;
  auto stage = plan_.make(context).ValueOrDie();
  size_t rows = 0;
  for (int i = 0; i < 2; ++i) rows += (*stage->Next())->num_rows();
  auto again = plan_.make(context).ValueOrDie();
  ASSERT_TRUE(RestoreSaved(stage->Save(), again.get()).ok());
  const auto next = DescribeRows(**again->Next());
  ASSERT_LT(rows, whole.size());
  EXPECT_EQ(next.front(), whole[rows]);
}

TEST_F(Units, AreNotOfRowsInAnotherOrder) {
  SourceStageOptions options;
  options.shuffle.mode = SourceShuffle::kBlocks;
  EXPECT_EQ(SourcePlan(source_, options)->facts().divide, nullptr);
  options = {};
  options.start_row = 3;
  EXPECT_EQ(SourcePlan(source_, options)->facts().divide, nullptr);
}

}  // namespace
}  // namespace easydata::source
