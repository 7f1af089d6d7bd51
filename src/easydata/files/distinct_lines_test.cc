#include "easydata/files/distinct_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "easydata/files/file_calls.h"

namespace easydata::files {
namespace {

namespace fs = std::filesystem;

class DistinctLinesTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }
  std::string Content() const { return ReadWholeFile(path_).ValueOrDie(); }
  void Append(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }

  const std::string path_ =
      (fs::temp_directory_path() / ("easydata_lines_" + std::to_string(::getpid()))).string();
};

TEST_F(DistinctLinesTest, EachLineStandsInTheFileOnce) {
  DistinctLines lines(path_);
  const std::string longer(200'000, 'x');  // than what is read at once
  for (int i = 0; i < 2; ++i) {
    for (const std::string& line : {std::string("a"), longer, std::string("b")}) {
      ASSERT_TRUE(lines.Add(line).ok());
    }
  }
  EXPECT_EQ(Content(), "a\n" + longer + "\nb\n");
  DistinctLines others(path_);  // of another stream, or of a later run
  ASSERT_TRUE(others.Add(longer).ok() && others.Add("c").ok());
  ASSERT_TRUE(lines.Add("c").ok());
  EXPECT_EQ(Content(), "a\n" + longer + "\nb\nc\n");
}

TEST_F(DistinctLinesTest, AFileThatSomebodyChangedIsReadAnew) {
  DistinctLines lines(path_);
  ASSERT_TRUE(lines.Add("a").ok());
  Append("half a li");
  ASSERT_TRUE(lines.Add("b").ok() && lines.Add("a").ok() && lines.Add("b").ok());
  EXPECT_EQ(Content(), "a\nhalf a li\nb\n");
  fs::remove(path_);
  ASSERT_TRUE(lines.Add("a").ok());
  EXPECT_EQ(Content(), "a\n");
}

TEST_F(DistinctLinesTest, ErrorsNameTheFile) {
  const Status error = DistinctLines(path_ + "/no/lines").Add("a");
  EXPECT_NE(error.message().find(path_ + "/no/lines"), std::string::npos) << error;
}

}  // namespace
}  // namespace easydata::files
