#include "easydata/io/mapped_file.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace easydata {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  MappedFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "easydata-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::mt19937 random(1);
    content_.resize(500'001);
    for (char& c : content_) c = static_cast<char>(random());
    std::ofstream(Path(), std::ios::binary) << content_;
  }
  ~MappedFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return (folder_ / "file").string(); }

  std::filesystem::path folder_;
  std::string content_;
};

TEST_F(MappedFileTest, GivesEveryRangeAsTheFileHasIt) {
  auto file = OpenMappedFile(Path()).ValueOrDie();
  const auto size = static_cast<int64_t>(content_.size());
  for (const int64_t begin : {0, 1, 4095, 4096, 70'000, 499'999, 500'001}) {
    for (const int64_t length : {0, 1, 65'535, 65'536, 65'537, 300'000, 500'001}) {
      const auto buffer = file->ReadAt(begin, length).ValueOrDie();
      EXPECT_EQ(buffer->ToString(), content_.substr(begin, length)) << begin << " " << length;
      EXPECT_EQ(buffer->size(), std::min(length, size - begin));
    }
  }
}

TEST_F(MappedFileTest, BuffersOutliveTheFileAndAreNoCopies) {
  auto file = OpenMappedFile(Path()).ValueOrDie();
  const auto buffer = file->ReadAt(8192, 400'000).ValueOrDie();
  file.reset();
  // What is written into the file shows: the buffer is the page cache.
  std::fstream(Path(), std::ios::in | std::ios::out | std::ios::binary).seekp(8192) << "written";
  EXPECT_EQ(buffer->ToString().substr(0, 7), "written");
  std::filesystem::remove(Path());
  EXPECT_EQ(buffer->ToString().substr(7), content_.substr(8199, 400'000 - 7));
}

TEST_F(MappedFileTest, FileThatWasCutIsNoCrash) {
  auto file = OpenMappedFile(Path()).ValueOrDie();
  std::filesystem::resize_file(Path(), 100'000);
  EXPECT_EQ(file->ReadAt(50'000, 300'000).ValueOrDie()->size(), 50'000);
}

TEST_F(MappedFileTest, MissingFileIsNamed) {
  const Status error = OpenMappedFile(Path() + "-none").status();
  EXPECT_TRUE(error.IsIOError());
  EXPECT_NE(error.message().find("file-none"), std::string::npos);
}

}  // namespace
}  // namespace easydata
