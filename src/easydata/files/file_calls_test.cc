#include "easydata/files/file_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace easydata::files {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class FileCallsTest : public ::testing::Test {
 protected:
  FileCallsTest() {
    std::string name = (fs::temp_directory_path() / "easydata-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    path_ = (root_ / "file").string();
    std::ofstream(path_) << "0123456789";
  }
  ~FileCallsTest() override { fs::remove_all(root_); }

  fs::path root_;
  std::string path_;
};

TEST_F(FileCallsTest, AStampTellsFilesAndTheirTimes) {
  const FileStamp stamp = StampOf(path_).ValueOrDie().value();
  EXPECT_EQ(stamp.size, 10);
  EXPECT_TRUE(stamp.is_same_file(StampOf(path_).ValueOrDie().value()));
  fs::last_write_time(path_, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const int64_t before = StampOf(path_).ValueOrDie()->changed_ns;
  ASSERT_TRUE(TouchFile(path_).ok());
  const int64_t hour = int64_t{3600} * 1'000'000'000;
  EXPECT_NEAR(static_cast<double>(StampOf(path_).ValueOrDie()->changed_ns - before), hour,
              hour / 60);
  const std::string clock = (root_ / "clock").string();
  const int64_t now = TimeByTouching(clock).ValueOrDie();
  EXPECT_EQ(StampOf(clock).ValueOrDie()->changed_ns, now);
  EXPECT_GE(TimeByTouching(clock).ValueOrDie(), now);
  std::ofstream((root_ / "other").string()) << "0123456789";
  fs::rename(root_ / "other", path_);
  EXPECT_FALSE(stamp.is_same_file(StampOf(path_).ValueOrDie().value()));
  EXPECT_EQ(StampOf((root_ / "none").string()).ValueOrDie(), std::nullopt);
  EXPECT_EQ(StampOf(root_.string()).ValueOrDie(), std::nullopt);
  EXPECT_FALSE(TouchFile((root_ / "none").string()).ok());
}

TEST_F(FileCallsTest, ReadsFromAPlaceOn) {
  EXPECT_EQ(ReadFileFrom(path_, 7).ValueOrDie(), "789");
  EXPECT_EQ(ReadFileFrom(path_, 10).ValueOrDie(), "");
  EXPECT_EQ(ReadFileFrom(path_, 20).ValueOrDie(), "");
}

TEST_F(FileCallsTest, LooksIntoFolders) {
  std::ofstream((root_ / "a").string()) << "";
  EXPECT_THAT(NamesInFolder(root_.string()).ValueOrDie(), ElementsAre("a", "file"));
  EXPECT_TRUE(NamesInFolder((root_ / "none").string()).status().IsIOError());
  EXPECT_GT(FreeBytes(root_.string()).ValueOrDie(), 0);
  EXPECT_TRUE(FreeBytes((root_ / "none").string()).status().IsIOError());
}

}  // namespace
}  // namespace easydata::files
