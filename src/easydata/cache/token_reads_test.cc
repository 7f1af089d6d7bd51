#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "easydata/base/fault_point.h"
#include "easydata/cache/token_file.h"
#include "easydata/cache/token_files_for_tests.h"

namespace easydata::cache {
namespace {

using arrow::int32;
using arrow::int8;
using arrow::list;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<NotedFile> Noted(const std::string& bytes, bool is_of_another_machine) {
  return std::make_shared<NotedFile>(bytes, is_of_another_machine);
}

std::shared_ptr<TokenFile> OpenNoted(const std::shared_ptr<NotedFile>& file) {
  return TokenFile::Open(file, file->GetSize().ValueOrDie()).ValueOrDie();
}

// 70,000 needs int32, so that the ids are as the batch has them.
const char* const kWideIds = "[[1, 2, 70000], [], [4]]";

TEST(TokenReadsTest, IdsAreReadIntoTheBatchAtOnce) {
  const auto noted = Noted(WriteTokenFile({Kept(BatchOf({
                               {list(int32()), kWideIds},
                               {list(int32()), kWideIds},
                               {list(int8()), "[[1, 1, 1], [], [1]]"},
                           }))}),
                           false);
  const auto file = OpenNoted(noted);
  EXPECT_EQ(noted->TakeRanges().size(), 1u);  // a short file is read at once
  for (const bool verify : {false, true}) {
    const auto rows = file->Read(0, nullptr, verify).ValueOrDie().rows;
    const auto ranges = noted->TakeRanges();
    ASSERT_EQ(ranges.size(), 2u);  // offsets and ids
    EXPECT_EQ(ranges[1].bytes, 16);
    EXPECT_EQ(ranges[1].to, rows->column_data(0)->child_data[0]->buffers[1]->data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(ranges[1].to) % 64, 0u);
  }
}

TEST(TokenReadsTest, ALongFileIsOpenedByItsEnds) {
  std::string ids = "[[70000";
  for (int i = 0; i < 40'000; ++i) ids += ", " + std::to_string(i);
  const std::string bytes = WriteTokenFile({Kept(BatchOf({{list(int32()), ids + "]]"}}))});
  const auto noted = Noted(bytes, false);
  const auto file = OpenNoted(noted);
  int64_t read = 0;
  for (const auto& range : noted->TakeRanges()) read += range.bytes;
  EXPECT_LT(read, 70'000);
  EXPECT_EQ(file->Read(0, nullptr, true).ValueOrDie().rows->num_rows(), 1);
  // Facts so long that the footer is longer than what is read at first.
  KeptBlock talkative = Kept(BatchOf({{list(int32()), "[[1]]"}}));
  talkative.facts = std::string(100'000, 'x');
  const auto other = OpenBytes(WriteTokenFile({talkative})).ValueOrDie();
  EXPECT_EQ(other->Read(0, nullptr, true).ValueOrDie().facts, talkative.facts);
}

TEST(TokenReadsTest, FromAnotherMachineABlockComesByOneRead) {
  for (const Compression compression : {Compression::kNone, Compression::kLz4}) {
    const std::vector<KeptBlock> blocks = {ManyColumns(), ManyColumns()};
    const auto noted = Noted(WriteTokenFile(blocks, compression), true);
    const auto file = OpenNoted(noted);
    noted->TakeRanges();
    EXPECT_EQ(Difference(file->Read(1, nullptr, true).ValueOrDie(), blocks[1]), "");
    const auto ranges = noted->TakeRanges();
    ASSERT_EQ(ranges.size(), 1u);
    EXPECT_EQ(ranges[0].offset, file->blocks()[1].offset);
    EXPECT_EQ(ranges[0].bytes, file->blocks()[1].bytes);
    // What was harmed on its way comes again.
    noted->harmed = 1;
    EXPECT_EQ(Difference(file->Read(0, nullptr, true).ValueOrDie(), blocks[0]), "");
    EXPECT_EQ(noted->damages, 1);
    noted->harmed = 2;
    EXPECT_THAT(file->Read(0, nullptr, true).status().message(), HasSubstr("the hash of bytes"));
  }
}

TEST(TokenReadsTest, DamageOfThisMachineIsNotReadAgain) {
  const auto noted = Noted(WriteTokenFile({ManyColumns()}), false);
  const auto file = OpenNoted(noted);
  noted->harmed = 1;
  EXPECT_TRUE(file->Read(0, nullptr, true).status().IsInvalid());
  EXPECT_TRUE(file->Read(0, nullptr, true).ok());
}

TEST(TokenReadsTest, ErrorsOfTheFileStayAsTheyAre) {
  const auto noted = Noted(WriteTokenFile({ManyColumns()}), false);
  const auto file = OpenNoted(noted);
  noted->fails = true;
  const Status status = file->Read(0, nullptr, true).status();
  EXPECT_TRUE(status.IsIOError()) << status;
  EXPECT_THAT(status.message(), ::testing::StartsWith("noted: reading failed"));
}

TEST(TokenReadsTest, MemoryThatIsNotThereIsNoDamage) {
  // More than is kept for widening from block to block.
  std::vector<int32_t> values(3 << 20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i % 50'000);
  const auto child = std::make_shared<arrow::Int32Array>(
      static_cast<int64_t>(values.size()), arrow::Buffer::Wrap(values.data(), values.size()));
  const auto offsets = BatchOf({{int32(), "[0, 3145728]"}})->column(0);
  const auto lists = arrow::ListArray::FromArrays(*offsets, *child).ValueOrDie();
  const auto rows = arrow::RecordBatch::Make(
      arrow::schema({arrow::field("input_ids", lists->type())}), 1, {lists});
  const auto file = OpenBytes(WriteTokenFile({Kept(rows)})).ValueOrDie();
  ASSERT_TRUE(SetFaultPlan("fail:allocate@1=12"));
  const Status status = file->Read(0, nullptr, true).status();
  ASSERT_TRUE(SetFaultPlan(""));
  EXPECT_TRUE(status.IsOutOfMemory()) << status;
  EXPECT_TRUE(file->Read(0, nullptr, true).ValueOrDie().rows->Equals(*rows));
}

TEST(TokenReadsTest, ManyThreadsReadAtOnce) {
  std::vector<KeptBlock> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(Kept(ManyColumns().rows->Slice(i)));
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    const auto file = OpenBytes(WriteTokenFile(blocks, compression)).ValueOrDie();
    std::vector<std::string> differences(4);
    std::vector<std::thread> threads;
    for (std::string& difference : differences) {
      threads.emplace_back([&] {
        for (int i = 0; i < 60 && difference.empty(); ++i) {
          const auto at = static_cast<size_t>(i) % blocks.size();
          difference = Difference(file->Read(at, nullptr, i % 2 == 0).ValueOrDie(), blocks[at]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(differences, ElementsAre("", "", "", ""));
  }
}

}  // namespace
}  // namespace easydata::cache
