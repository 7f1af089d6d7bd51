#include "easydata/source/open_files.h"

#include <arrow/io/interfaces.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/base/fault_point.h"
#include "easydata/files/file_system.h"
#include "easydata/source/file_sources.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

using CountedFiles = OpenFiles<arrow::io::RandomAccessFile>;

/// Opens files, and counts how often.
CountedFiles Counted(std::vector<files::FileInfo> files, int* opens) {
  return CountedFiles(std::move(files), [opens](const files::FileInfo& file) {
    ++*opens;
    return storage::OpenFile(file);
  });
}

TEST(OpenFilesTest, APassTakesTheFileThatALookLeftOpen) {
  const TestFolder folder;
  int opens = 0;
  CountedFiles files = Counted(Listed({folder.Write("a", "x"), folder.Write("b", "y")}), &opens);
  for (const size_t i : {0, 1, 0, 1}) ASSERT_TRUE(files.Open(i, true).ok());
  EXPECT_EQ(opens, 2);
  for (const size_t i : {0, 1}) {
    const auto file = files.Open(i, false).ValueOrDie();
    EXPECT_EQ(files.Open(i, false).ValueOrDie(), file) << "two readers share it";
  }
  EXPECT_EQ(opens, 2);
  // It has no users any more.
  ASSERT_TRUE(files.Open(0, false).ok());
  EXPECT_EQ(opens, 3);
}

TEST(OpenFilesTest, TwoFilesStayOpenForALaterPass) {
  const TestFolder folder;
  int opens = 0;
  CountedFiles files = Counted(
      Listed({folder.Write("a", "x"), folder.Write("b", "y"), folder.Write("c", "z")}), &opens);
  std::vector<std::weak_ptr<arrow::io::RandomAccessFile>> seen;
  for (const size_t i : {0, 1, 2}) seen.push_back(files.Open(i, true).ValueOrDie());
  EXPECT_TRUE(seen[0].expired());
  EXPECT_FALSE(seen[1].expired());
  EXPECT_FALSE(seen[2].expired());
}

TEST(OpenFilesTest, AFileThatIsAnotherOneIsNotHandedOut) {
  const TestFolder folder;
  int opens = 0;
  CountedFiles files = Counted(Listed({folder.Write("a", "some text")}), &opens);
  const auto before = files.Open(0, true).ValueOrDie();
  folder.Write("new", "text");
  std::filesystem::rename(folder.Path("new"), folder.Path("a"));
  const Status error = files.Open(0, false).status();
  EXPECT_TRUE(files::IsFileError(error)) << error;
  EXPECT_NE(error.message().find("is not the file any more that was listed"), std::string::npos);
}

#ifdef EASYDATA_FAULT_POINTS
/// How often each file was opened while `run` ran.
template <typename Run>
std::vector<int> OpensOf(const TestFolder& folder, const std::vector<std::string>& files, Run run) {
  const std::string log = folder.Path("calls.log");
  EXPECT_TRUE(SetFaultPlan("log=" + log));
  run();
  EXPECT_TRUE(SetFaultPlan(""));
  std::vector<int> opens(files.size());
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    for (size_t i = 0; i < files.size(); ++i) opens[i] += line == "open " + files[i] ? 1 : 0;
  }
  return opens;
}

TEST(OpenFilesTest, LookingPlanningAndReadingOpenAFileOnce) {
  const TestFolder folder;
  const std::vector<std::string> files = {folder.Write("a.jsonl", "{\"n\": 1}\n{\"n\": 2}\n"),
                                          folder.Write("b.csv", "n\n1\n2\n"),
                                          folder.Write("c.txt", "1\n2\n")};
  std::vector<std::shared_ptr<const Source>> sources;
  const auto opens = OpensOf(folder, files, [&] {
    sources = {MakeJsonSource(Listed({files[0]}), JsonLayout::kLines).ValueOrDie(),
               MakeCsvSource(Listed({files[1]}), CsvDialect()).ValueOrDie(),
               MakeTextSource(Listed({files[2]}), "n").ValueOrDie()};
    for (const auto& source : sources) {
      EXPECT_EQ(source->Peek(1, OnError::kRaise).ValueOrDie().num_rows, 1);
      EXPECT_TRUE(source->Schema(std::nullopt, 0).ok());
      EXPECT_TRUE(source->ListBlocks(0).ok());
      EXPECT_EQ(AllRows(ContractOf(source, {})).size(), 2);
    }
  });
  EXPECT_EQ(opens, (std::vector<int>{1, 1, 1}));
}

TEST(OpenFilesTest, DescribingOpensNothing) {
  const TestFolder folder;
  const std::string path = folder.Write("a.parquet", "no Parquet at all");
  const auto opens = OpensOf(folder, {path}, [&] {
    const auto source = MakeParquetSource(Listed({path})).ValueOrDie();
    std::filesystem::remove(path);
    EXPECT_EQ(source->Describe()["bytes"][0], 17);
    EXPECT_TRUE(SourcePlan(source, {}).ok());
  });
  EXPECT_EQ(opens, std::vector<int>{0});
}
#endif

}  // namespace
}  // namespace easydata::source
