#include "easydata/sink/unit_coordinator.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "easydata/sink/progress_report.h"
#include "easydata/sink/read_file_for_tests.h"
#include "easydata/sink/stream_writer.h"
#include "easydata/stream/memory_stage.h"

namespace easydata::sink {
namespace {

namespace fs = std::filesystem;

constexpr int kUnits = 5;

/// A stream of `kUnits` units of 30 numbers.
StreamPlan Numbers(const std::string& data) {
  auto schema = arrow::schema({arrow::field("n", arrow::int64())});
  auto node = MakeNode("source", {{"data", data}});
  node->facts.divide = [](int64_t) -> Result<std::vector<Unit>> {
    std::vector<Unit> units;
    for (int i = 0; i < kUnits; ++i) units.push_back({i, {{0, i, i + 1}}, 1});
    return units;
  };
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = [schema] { return schema; };
  plan.make = [schema](const StageContext& context) {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (int64_t unit = 0; unit < kUnits; ++unit) {
      if (context.unit != nullptr && context.unit->number != unit) continue;
      arrow::Int64Builder numbers;
      for (int64_t i = 0; i < 30; ++i) EXPECT_TRUE(numbers.Append(unit * 1000 + i).ok());
      batches.push_back(arrow::RecordBatch::Make(schema, 30, {*numbers.Finish()}));
    }
    return MakeMemoryStage(batches, schema, "memory", "rows");
  };
  return plan;
}

class UnitCoordination : public ::testing::Test {
 protected:
  UnitCoordination()
      : root_(fs::temp_directory_path() / ("easydata_units_" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~UnitCoordination() override { fs::remove_all(root_); }

  SaveJob Job(const std::string& folder, const std::string& data = "numbers",
              bool overwrite = false) const {
    WriteOptions options;
    options.output_path = (root_ / folder).string();
    options.format = "jsonl";
    options.units = 1;
    options.num_threads = 2;
    options.overwrite = overwrite;
    return SaveJob::Make(Numbers(data), options, {}).ValueOrDie();
  }

  /// The files of an output, without what says where and when.
  std::map<std::string, std::string> Files(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(root_ / folder)) {
      const std::string name = entry.path().filename();
      if (name != kMetadataName) files[name] = entry.is_directory() ? "" : ReadFile(entry.path());
    }
    return files;
  }

  nlohmann::json Metadata(const std::string& folder) const {
    auto metadata = nlohmann::json::parse(ReadFile(root_ / folder / kMetadataName));
    metadata.erase("time");
    metadata.erase("config");
    return metadata;
  }

  nlohmann::json Report(const std::string& folder) const {
    return ProgressReport((root_ / folder).string(), nullptr).ValueOrDie();
  }

  fs::path Reference() const {
    auto writer = StreamWriter::Make(Numbers("numbers"), Job("reference").options).ValueOrDie();
    EXPECT_EQ(writer->Run().ValueOrDie().rows, kUnits * 30);
    return root_ / "reference";
  }

  const fs::path root_;
};

std::function<bool()> Never() {
  return [] { return false; };
}

TEST_F(UnitCoordination, GivesTheSameOutputWhoeverWritesInWhateverOrder) {
  Reference();
  UnitCoordinator coordinator(Job("out"));
  auto opened = coordinator.Open(Never()).ValueOrDie();
  ASSERT_EQ(opened.num_units, kUnits);
  ASSERT_EQ(opened.left.size(), static_cast<size_t>(kUnits));
  UnitWriter here(Job("out"));
  std::reverse(opened.left.begin(), opened.left.end());
  for (const Unit& unit : opened.left) {
    UnitWriter another(Job("out"));
    UnitWriter& writer = unit.number % 2 == 0 ? here : another;
    ASSERT_TRUE(coordinator.Add(writer.Write(unit).ValueOrDie()).ok());
  }
  const WriteResult result = coordinator.Finish(&here).ValueOrDie();
  EXPECT_EQ(result.rows, kUnits * 30);
  EXPECT_EQ(Files("out"), Files("reference"));
  EXPECT_EQ(Metadata("out"), Metadata("reference"));
  EXPECT_EQ(Report("out").at("state"), "finished");
}

TEST_F(UnitCoordination, TakesUpWhatNobodyNoted) {
  Reference();
  {
    UnitCoordinator killed(Job("out"));
    auto opened = killed.Open(Never()).ValueOrDie();
    UnitWriter writer(Job("out"));
    ASSERT_TRUE(killed.Add(writer.Write(opened.left[4]).ValueOrDie()).ok());
    ASSERT_TRUE(writer.Write(opened.left[1]).ok());  // and then the coordinator ends
    const auto report = Report("out");
    EXPECT_EQ(report.at("state"), "unfinished");
    EXPECT_EQ(report.at("units"), kUnits);
    EXPECT_EQ(report.at("shards"), 2);
    EXPECT_EQ(report.at("rows"), 60);
    EXPECT_EQ(report.at("coordinator").at("pid"), ::getpid());
    EXPECT_EQ(report.at("coordinator").at("alive"), true);
  }
  UnitCoordinator next(Job("out"));
  const auto opened = next.Open(Never()).ValueOrDie();
  std::vector<int64_t> left;
  for (const Unit& unit : opened.left) left.push_back(unit.number);
  EXPECT_EQ(left, (std::vector<int64_t>{0, 2, 3}));
  EXPECT_EQ(next.folder()->notice(), "2 finished shards of an earlier run are kept");
  UnitWriter writer(Job("out"));
  for (const Unit& unit : opened.left) {
    ASSERT_TRUE(next.Add(writer.Write(unit).ValueOrDie()).ok());
  }
  ASSERT_TRUE(next.Finish(&writer).ok());
  EXPECT_EQ(Files("out"), Files("reference"));
  EXPECT_EQ(Metadata("out"), Metadata("reference"));
}

TEST_F(UnitCoordination, WritesADamagedShardAgain) {
  Reference();
  for (int run = 0; run < 2; ++run) {
    UnitCoordinator coordinator(Job("out"));
    const auto opened = coordinator.Open(Never()).ValueOrDie();
    UnitWriter writer(Job("out"));
    for (const Unit& unit : opened.left) {
      if (run == 0 && unit.number == 3) continue;
      ASSERT_TRUE(coordinator.Add(writer.Write(unit).ValueOrDie()).ok());
    }
    if (run == 0) {
      std::fstream(root_ / "out" / "shard-00001.jsonl").seekp(3) << "XX";
      const auto early = coordinator.Finish(&writer);
      ASSERT_FALSE(early.ok());
      EXPECT_EQ(early.status().message(),
                "1 of 5 units are not written yet; run again to write them");
      continue;
    }
    EXPECT_EQ(opened.left.size(), 2u);
    EXPECT_NE(coordinator.folder()->notice().find("shard-00001.jsonl is not what was written"),
              std::string::npos)
        << coordinator.folder()->notice();
    ASSERT_TRUE(coordinator.Finish(&writer).ok());
  }
  EXPECT_EQ(Files("out"), Files("reference"));
}

TEST_F(UnitCoordination, RefusesAnotherJob) {
  UnitWriter alone(Job("out"));
  const Unit unit{0, {{0, 0, 1}}, 1};
  auto written = alone.Write(unit);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.status().message().find("nobody coordinates"), std::string::npos);

  UnitCoordinator coordinator(Job("out"));
  ASSERT_TRUE(coordinator.Open(Never()).ok());
  UnitWriter changed(Job("out", "other numbers"));
  written = changed.Write(unit);
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.status().message().find("the data or the configuration"), std::string::npos);

  UnitWriter writer(Job("out"));
  auto record = writer.Write(unit).ValueOrDie();
  auto damaged = record;
  damaged["job"] = "another";
  EXPECT_TRUE(coordinator.Add(damaged).IsInvalid());
  damaged = record;
  damaged["unit"] = kUnits;
  EXPECT_TRUE(coordinator.Add(damaged).IsInvalid());
  damaged = record;
  damaged["shard"]["name"] = "../other.jsonl";
  EXPECT_TRUE(coordinator.Add(damaged).IsInvalid());
  ASSERT_TRUE(coordinator.Add(record).ok());
  EXPECT_TRUE(coordinator.Add(record).IsInvalid()) << "it is there already";
}

TEST_F(UnitCoordination, LeavesNothingOfWhatBeganNothing) {
  {
    UnitCoordinator coordinator(Job("out"));
    ASSERT_TRUE(coordinator.Open(Never()).ok());
  }
  EXPECT_FALSE(fs::exists(root_ / "out"));
}

TEST_F(UnitCoordination, SaysWhyAUnitFailed) {
  {
    UnitCoordinator coordinator(Job("out"));
    ASSERT_TRUE(coordinator.Open(Never()).ok());
    UnitWriter writer(Job("out"));
    ASSERT_TRUE(writer.Fail(2, "row 7 is bad", "all of the log\n").ok());
  }
  const auto report = Report("out");
  ASSERT_EQ(report.at("failed").size(), 1u);
  EXPECT_EQ(report.at("failed")[0].at("unit"), 2);
  EXPECT_EQ(report.at("failed")[0].at("error"), "row 7 is bad");
  EXPECT_EQ(ReadFile(report.at("failed")[0].at("log").get<std::string>()), "all of the log\n");
  UnitCoordinator again(Job("out"));
  ASSERT_EQ(again.Open(Never())->left.size(), static_cast<size_t>(kUnits));
  EXPECT_TRUE(Report("out").at("failed").empty()) << "it is begun again";
}

TEST_F(UnitCoordination, TakesThePlaceOfAnOldOutput) {
  Reference();
  fs::create_directories(root_ / "out");
  {
    auto old = StreamWriter::Make(Numbers("old"), Job("out", "old").options).ValueOrDie();
    ASSERT_TRUE(old->Run().ok());
  }
  const auto before = Files("out");
  UnitCoordinator coordinator(Job("out", "numbers", true));
  const auto opened = coordinator.Open(Never()).ValueOrDie();
  UnitWriter writer(Job("out", "numbers", true));
  for (const Unit& unit : opened.left) {
    ASSERT_TRUE(coordinator.Add(writer.Write(unit).ValueOrDie()).ok());
    auto there = Files("out");
    there.erase(".easydata");
    EXPECT_EQ(there, before) << "the old one stays until the new one is whole";
  }
  ASSERT_TRUE(coordinator.Finish(&writer).ok());
  EXPECT_EQ(Files("out"), Files("reference"));
}

}  // namespace
}  // namespace easydata::sink
