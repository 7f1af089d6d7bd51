#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "easydata/exec/thread_pool.h"
#include "easydata/source/source_stage.h"
#include "easydata/storage/open_file.h"
#include "easydata/stream/stage_contract.h"

namespace easydata::source {

/// A folder that goes when the test ends.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "easydata-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }

  std::string Path(const std::string& name) const { return (path_ / name).string(); }
  std::string Write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }

 private:
  std::filesystem::path path_;
};

/// The files of these paths, in this order, as they are now.
inline std::vector<files::FileInfo> Listed(const std::vector<std::string>& paths) {
  std::vector<files::FileInfo> files;
  for (const std::string& path : paths) files.push_back(storage::StatFile(path).ValueOrDie());
  return files;
}

inline StageContract ContractOf(std::shared_ptr<const Source> source, SourceStageOptions options) {
  StageContract contract;
  contract.finds_rows = options.shuffle.mode != SourceShuffle::kRows;
  StreamPlan plan = SourcePlan(std::move(source), std::move(options)).ValueOrDie();
  contract.make = plan.make;
  return contract;
}

/// All rows of a stage, described; fails the test on an error.
inline std::vector<std::string> AllRows(const StageContract& contract) {
  StageContext context;
  context.pool = std::make_shared<exec::ThreadPool>(2);
  auto stage = contract.make(context).ValueOrDie();
  std::vector<std::string> out;
  for (;;) {
    auto batch = stage->Next();
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (!batch.ok() || !batch->has_value()) return out;
    for (auto& row : DescribeRows(**batch)) out.push_back(std::move(row));
  }
}

}  // namespace easydata::source
