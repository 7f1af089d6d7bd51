#include "easydata/outputs/part_buffer.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "easydata/outputs/object_upload.h"

namespace easydata::outputs {
namespace {

namespace fs = std::filesystem;

TEST(PartBufferTest, GivesWhatWasPutIn) {
  for (const bool in_file : {false, true}) {
    PartBuffer buffer(in_file);
    EXPECT_EQ(*buffer.Take(), "") << "nothing yet";
    for (const std::string content : {"one", "another, longer", ""}) {
      for (const char& c : content) ASSERT_TRUE(buffer.Append(&c, 1, 100).ok());
      EXPECT_EQ(buffer.size(), static_cast<int64_t>(content.size()));
      EXPECT_EQ(*buffer.Take(), content);
      EXPECT_EQ(buffer.size(), 0);
    }
  }
}

TEST(PartBufferTest, LeavesNoFileAndNamesTheFolder) {
  std::string folder = (fs::temp_directory_path() / "easydata-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const char* const set = ::getenv("TMPDIR");
  const std::string before = set == nullptr ? "" : set;
  ::setenv("TMPDIR", folder.c_str(), 1);
  {
    PartBuffer buffer(/*in_file=*/true);
    EXPECT_TRUE(buffer.Append("abc", 3, 100).ok());
    EXPECT_TRUE(fs::is_empty(folder));
  }
  fs::remove(folder);
  PartBuffer buffer(/*in_file=*/true);
  const Status status = buffer.Append("abc", 3, 100);
  EXPECT_TRUE(status.IsIOError());
  EXPECT_NE(status.message().find(folder), std::string::npos) << status;
  before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
}

TEST(PartSizeTest, TenThousandPartsAreEnough) {
  int64_t size = 0;
  for (int number = 1; number <= 10'000; ++number) {
    EXPECT_EQ(PartSize(number) % (256 << 10), 0);
    size += PartSize(number);
  }
  EXPECT_GT(size, int64_t{5} << 40);
  EXPECT_EQ(PartSize(1), 16 << 20);
  EXPECT_EQ(PartSize(1000), 16 << 20);
}

}  // namespace
}  // namespace easydata::outputs
