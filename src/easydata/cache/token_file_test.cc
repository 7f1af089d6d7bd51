#include "easydata/cache/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "easydata/cache/token_files_for_tests.h"
#include "easydata/cache/token_layout.h"

namespace easydata::cache {
namespace {

using arrow::field;
using arrow::int32;
using arrow::int64;
using arrow::int8;
using arrow::list;
using ::testing::HasSubstr;

void ExpectSame(const KeptBlock& read, const KeptBlock& put) {
  EXPECT_TRUE(read.rows->ValidateFull().ok()) << read.rows->ValidateFull();
  EXPECT_TRUE(read.rows->schema()->Equals(*put.rows->schema(), true));
  EXPECT_TRUE(read.rows->Equals(*put.rows, true, arrow::EqualOptions::Defaults().nans_equal(true)))
      << read.rows->ToString() << put.rows->ToString();
  EXPECT_EQ(read.facts, put.facts);
  EXPECT_EQ(read.notes, put.notes);
}

/// Writes blocks and reads them, in each way.
void ExpectRoundTrip(const std::vector<KeptBlock>& blocks) {
  for (const auto compression :
       {Compression::kNone, Compression::kGzip, Compression::kLz4, Compression::kZstd}) {
    const std::string bytes = WriteTokenFile(blocks, compression);
    EXPECT_EQ(bytes, WriteTokenFile(blocks, compression));
    const auto file = OpenBytes(bytes);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_EQ((*file)->blocks().size(), blocks.size());
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ((*file)->blocks()[i].key, KeyOf(i));
      EXPECT_EQ((*file)->blocks()[i].rows, blocks[i].rows->num_rows());
      for (const bool verify : {true, false}) {
        const auto read = (*file)->Read(i, blocks[i].rows->schema(), verify);
        ASSERT_TRUE(read.ok()) << read.status();
        ExpectSame(*read, blocks[i]);
      }
      ExpectSame((*file)->Read(i, nullptr, true).ValueOrDie(), blocks[i]);
    }
  }
}

TEST(TokenFileTest, GivesWhatWasPut) {
  const auto tokens = BatchOf({
      {list(int32()), "[[1, 2, 65535], [], [4]]"},
      {list(int32()), "[[-100, 2, 65535], [], [4]]"},
      {list(int8()), "[[1, 1, 1], [], [1]]"},
      {arrow::large_list(int64()), "[[1, null, 5000000000], null, [4]]"},
      {arrow::utf8(), R"(["a", null, "b"])"},
      {arrow::dictionary(int8(), arrow::utf8()), R"(["x", "x", null])"},
      {arrow::struct_({field("a", arrow::float64())}), R"([{"a": 1.5}, null, {"a": null}])"},
  });
  KeptBlock first = Kept(tokens);
  first.facts = "facts";
  first.notes = std::string("no\0tes", 6);
  ExpectRoundTrip({first, Kept(tokens->Slice(1)), Kept(tokens->Slice(2, 0))});
  ExpectRoundTrip({});
}

}  // namespace
}  // namespace easydata::cache
