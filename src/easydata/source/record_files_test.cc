#include "easydata/source/record_files.h"

#include <arrow/io/file.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "easydata/record_file/array_record_writer.h"
#include "easydata/source/test_files.h"

namespace easydata::source {
namespace {

using ::testing::HasSubstr;

class RecordFilesTest : public ::testing::Test {
 protected:
  /// A file of `count` records, "<name> 0" and so on.
  std::string WriteRecords(const std::string& name, int count) {
    const std::string path = folder_.Path(name);
    const auto out = arrow::io::FileOutputStream::Open(path).ValueOrDie();
    const auto options = record_file::ArrayRecordOptions::Parse("").ValueOrDie();
    auto writer = record_file::ArrayRecordWriter::Make(out, options).ValueOrDie();
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(writer->Write(name + " " + std::to_string(i)).ok());
    }
    EXPECT_TRUE(writer->Finish().ok());
    EXPECT_TRUE(out->Close().ok());
    return path;
  }

  std::string Read(const RecordFiles& files, int64_t record) {
    record_file::RecordScratch scratch;
    record_file::Records held;
    return std::string(files.Read(record, &scratch, &held).ValueOrDie());
  }

  TestFolder folder_;
};

TEST_F(RecordFilesTest, CountsThroughAllFiles) {
  const auto files = RecordFiles::Open(Listed({WriteRecords("a", 700), WriteRecords("b", 0),
                                               WriteRecords("c", 300)}))
                         .ValueOrDie();
  ASSERT_EQ(files->size(), 1000);
  EXPECT_EQ(Read(*files, 0), "a 0");
  EXPECT_EQ(Read(*files, 699), "a 699");
  EXPECT_EQ(Read(*files, 700), "c 0");
  EXPECT_EQ(Read(*files, -1), "c 299");
  std::vector<int64_t> wanted(1000);
  std::iota(wanted.rbegin(), wanted.rend(), 0);
  wanted.push_back(5);  // once more
  const auto many = files->ReadMany(wanted).ValueOrDie();
  ASSERT_EQ(many.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(many[i], Read(*files, wanted[i])) << i;
}

TEST_F(RecordFilesTest, NamesWhatIsNotThere) {
  const std::string path = WriteRecords("a", 3);
  const auto files = RecordFiles::Open(Listed({path})).ValueOrDie();
  const Status beyond = files->ReadMany({0, 3}).status();
  EXPECT_TRUE(beyond.IsIndexError());
  EXPECT_THAT(beyond.message(), HasSubstr("there is no record 3: there are 3"));
  const Status other = RecordFiles::Open(Listed({folder_.Write("b", "no records")})).status();
  EXPECT_THAT(other.message(), HasSubstr("b is not a whole ArrayRecord file"));
}

}  // namespace
}  // namespace easydata::source
