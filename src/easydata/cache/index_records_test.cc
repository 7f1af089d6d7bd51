#include "easydata/cache/index_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace easydata::cache {
namespace {

using ::testing::SizeIs;

IndexRecord RecordOf(int number) {
  IndexRecord record;
  record.file.bytes = 1000 + number;
  for (uint64_t i = 0; i < 3; ++i) {
    TokenBlock block;
    block.key = {.plan = {1, static_cast<uint64_t>(number)}, .block = {i, i + 7}};
    block.facts = std::string(i, 'f');
    block.rows = static_cast<int64_t>(i);
    record.file.blocks.push_back(block);
  }
  record.file.name = NameOfBlocks(record.file.blocks);
  return record;
}

TEST(IndexRecordsTest, ComeBackAsTheyWere) {
  std::string text;
  for (int i = 0; i < 3; ++i) text += EncodeRecord(RecordOf(i));
  IndexRecord removed = RecordOf(1);
  removed.is_added = false;
  removed.file.blocks.clear();
  text += EncodeRecord(removed);
  const ParsedRecords parsed = ParseRecords(text);
  ASSERT_THAT(parsed.records, SizeIs(4));
  EXPECT_FALSE(parsed.is_damaged);
  EXPECT_EQ(parsed.used, text.size());
  EXPECT_EQ(parsed.records[2].file.name, RecordOf(2).file.name);
  EXPECT_EQ(parsed.records[2].file.bytes, 1002);
  EXPECT_EQ(parsed.records[2].file.blocks[2].facts, "ff");
  EXPECT_EQ(parsed.records[2].file.blocks[1].key, RecordOf(2).file.blocks[1].key);
  EXPECT_FALSE(parsed.records[3].is_added);
}

TEST(IndexRecordsTest, NoneIsBelievedThatIsDamaged) {
  const std::string one = EncodeRecord(RecordOf(1)), other = EncodeRecord(RecordOf(2));
  for (size_t at = 0; at < one.size(); ++at) {
    std::string text = one + other;
    text[at] = static_cast<char>(text[at] ^ 0x10);
    const ParsedRecords parsed = ParseRecords(text);
    ASSERT_THAT(parsed.records, SizeIs(1)) << at;
    EXPECT_EQ(parsed.records[0].file.name, RecordOf(2).file.name);
    EXPECT_TRUE(parsed.is_damaged);
    // One that is on its way is waited for.
    const ParsedRecords half = ParseRecords(other + one.substr(0, at));
    ASSERT_THAT(half.records, SizeIs(1));
    EXPECT_EQ(half.used, other.size());
  }
}

TEST(IndexRecordsTest, NamesAreThoseOfTokenFilesAlone) {
  EXPECT_TRUE(IsTokenFileName(RecordOf(1).file.name));
  EXPECT_NE(RecordOf(1).file.name, RecordOf(2).file.name);
  for (const std::string& name :
       {std::string(), std::string("x.tokens"), "../" + std::string(29, 'a') + ".tokens",
        std::string(32, 'A') + ".tokens", std::string(32, 'a') + ".token"}) {
    EXPECT_FALSE(IsTokenFileName(name)) << name;
    IndexRecord record = RecordOf(1);
    record.file.name = name;
    EXPECT_TRUE(ParseRecords(EncodeRecord(record)).records.empty()) << name;
  }
}

}  // namespace
}  // namespace easydata::cache
