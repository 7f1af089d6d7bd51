#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "easydata/base/hash.h"
#include "easydata/cache/token_columns.h"
#include "easydata/cache/token_file.h"
#include "easydata/cache/token_files_for_tests.h"
#include "easydata/cache/token_layout.h"

namespace easydata::cache {
namespace {

using arrow::int32;
using arrow::list;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Reads all that a file has. Verified: nothing but what was put, or Invalid. Otherwise the values
/// may be others; the batches are sound.
std::string ReadDamaged(const std::string& bytes, const std::vector<KeptBlock>& blocks) {
  const auto file = OpenBytes(bytes);
  if (!file.ok()) return file.status().IsInvalid() ? "" : file.status().ToString();
  if ((*file)->blocks().size() != blocks.size()) return "another number of blocks";
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto read = (*file)->Read(i, blocks[i].rows->schema(), true);
    if (!read.ok() && !read.status().IsInvalid()) return read.status().ToString();
    if (read.ok()) {
      const std::string difference = Difference(*read, blocks[i]);
      if (!difference.empty()) return difference;
    }
    const auto unchecked = (*file)->Read(i, nullptr, false);
    if (unchecked.ok()) {
      const Status valid = unchecked->rows->ValidateFull();
      // Text is looked at by rows.
      const bool is_utf8 = valid.message().find("UTF8") == std::string::npos;
      if (!valid.ok() && is_utf8) return valid.ToString();
      (void)unchecked->rows->ToString();
    } else if (!unchecked.status().IsInvalid()) {
      return unchecked.status().ToString();
    }
  }
  return "";
}

TEST(TokenDamageTest, AnyByteThatIsAnotherIsNeverAnotherBlock) {
  const std::vector<KeptBlock> blocks = {ManyColumns(), Kept(ManyColumns().rows->Slice(1, 1))};
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    const std::string sound = WriteTokenFile(blocks, compression);
    for (size_t i = 0; i < sound.size(); ++i) {
      std::string bytes = sound;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << i % 8));
      ASSERT_EQ(ReadDamaged(bytes, blocks), "") << "byte " << i;
      bytes[i] = static_cast<char>(~sound[i]);
      ASSERT_EQ(ReadDamaged(bytes, blocks), "") << "byte " << i;
    }
  }
}

TEST(TokenDamageTest, AFileThatIsCutOrLongerIsNone) {
  const std::vector<KeptBlock> blocks = {ManyColumns()};
  const std::string sound = WriteTokenFile(blocks);
  for (size_t i = 0; i < sound.size(); ++i) {
    for (const auto& bytes : {sound.substr(0, i), sound.substr(i + 1), sound + sound.substr(i)}) {
      if (bytes == sound) continue;
      const auto file = OpenBytes(bytes);
      // What comes twice ends as it should, but is not where it says.
      ASSERT_TRUE(file.status().IsInvalid()) << i << ": " << file.status();
    }
  }
  for (const size_t zeros : {1, 64, 128, 70'000}) {
    EXPECT_TRUE(OpenBytes(std::string(zeros, '\0')).status().IsInvalid());
    EXPECT_TRUE(OpenBytes(sound + std::string(zeros, '\0')).status().IsInvalid());
  }
}

// A file that shrinks once it is open.
TEST(TokenDamageTest, AFileThatWasCutSinceItWasOpenedIsNoBlock) {
  const std::string sound = WriteTokenFile({ManyColumns()});
  const auto bytes = std::make_shared<NotedFile>(sound, false);
  const auto file = TokenFile::Open(bytes, static_cast<int64_t>(sound.size())).ValueOrDie();
  for (bytes->most = 0; bytes->most < 128; ++bytes->most) {
    const Status status = file->Read(0, nullptr, false).status();
    EXPECT_TRUE(status.IsInvalid()) << status;
    EXPECT_THAT(status.message(), HasSubstr("the file ends at byte "));
  }
}

TEST(TokenDamageTest, OffsetsAreInOrderWhateverTheirDifferences) {
  constexpr int64_t kFar = (int64_t{1} << 62) + 1;
  const std::vector<int64_t> sound = {0, 0, 2, 3}, wild = {0, kFar, -kFar, 3};
  for (const bool is_narrow : {false, true}) {
    std::vector<int32_t> narrow(4);
    int32_t* const to = is_narrow ? narrow.data() : nullptr;
    EXPECT_TRUE(TakeOffsets(sound.data(), 3, 3, to).ok());
    EXPECT_TRUE(TakeOffsets(wild.data(), 3, 3, to).IsInvalid());
    EXPECT_TRUE(TakeOffsets(sound.data(), 3, 4, to).IsInvalid());
    EXPECT_TRUE(TakeOffsets(sound.data() + 1, 2, 3, to).ok());
    EXPECT_TRUE(TakeOffsets(sound.data() + 2, 1, 3, to).IsInvalid());
  }
}

template <typename T>
void Put(T value, size_t at, std::string* bytes) {
  std::memcpy(bytes->data() + at, &value, sizeof value);
}

TEST(TokenDamageTest, SaysWhatIsWrong) {
  const std::string sound = WriteTokenFile({Kept(BatchOf({{list(int32()), "[[1, 2]]"}}))});
  const auto expect = [](const std::string& bytes, const std::string& what) {
    EXPECT_THAT(OpenBytes(bytes).status().message(), HasSubstr(what));
  };
  expect("{}", "it has 2 bytes, and token files are a multiple of 64: it was cut");
  expect(std::string(640, '{'), "it does not end as token files do");
  std::string bytes = sound;
  bytes[0] = 'e';
  expect(bytes, "it does not begin as token files do: it is damaged, or another thing");
  bytes = sound;
  Put<uint32_t>(2, 8, &bytes);
  expect(bytes, "the hash of its header is wrong");
  Put(Hash64(bytes.substr(0, 56)), 56, &bytes);
  expect(bytes, "it is of version 2, and this release knows version 1");
  bytes = sound;
  const size_t trailer = sound.size() - 64;
  Put<uint32_t>(7, trailer + 44, &bytes);
  expect(bytes, "the hash of its trailer is wrong");
  Put(Hash64(bytes.substr(trailer, 48)), trailer + 48, &bytes);
  expect(bytes, "it is of version 7, and this release knows version 1");
  // No damage, for which a store would set the file aside.
  EXPECT_TRUE(OpenBytes(bytes).status().IsNotImplemented());
  bytes = sound;
  bytes[192] ^= 1;  // behind offsets and ids
  expect(bytes, "the hash of its footer is wrong");
  bytes = sound;
  bytes[64] ^= 1;  // an offset of the list
  const auto file = OpenBytes(bytes).ValueOrDie();
  EXPECT_THAT(file->Read(0, nullptr, true).status().message(),
              AllOf(HasSubstr("block 0 at byte 64 cannot be read: column 'c0': the hash of bytes "
                              "64 to 80 is "),
                    HasSubstr(" in place of ")));
  EXPECT_THAT(file->Read(0, nullptr, false).status().message(),
              HasSubstr("column 'c0': its offsets are not in order"));
}

/// A file with a footer that says what it likes, whose hashes are right.
std::string WithFooter(const std::string& sound, const TokenFooter& footer,
                       const std::vector<std::string>& schemas) {
  int64_t offset = 0;
  std::memcpy(&offset, sound.data() + sound.size() - 64, sizeof offset);
  std::string text = EncodeTokenFooter(schemas, footer.blocks);
  std::string bytes = sound.substr(0, static_cast<size_t>(offset));
  const std::string trailer = TokenTrailer(offset, text);
  text.resize(static_cast<size_t>(AlignedForTokens(static_cast<int64_t>(text.size()))), '\0');
  return bytes + text + trailer;
}

TEST(TokenDamageTest, TakesNoMemoryForWhatCannotBe) {
  const std::vector<KeptBlock> blocks = {ManyColumns()};
  for (const Compression compression : {Compression::kNone, Compression::kZstd}) {
    const std::string sound = WriteTokenFile(blocks, compression);
    arrow::io::BufferReader reader(arrow::Buffer::FromString(sound));
    const auto footer = ReadTokenFooter(&reader, static_cast<int64_t>(sound.size())).ValueOrDie();
    const std::vector<std::string> schemas = {
        arrow::ipc::SerializeSchema(*footer.schemas[0]).ValueOrDie()->ToString()};
    ASSERT_EQ(WithFooter(sound, footer, schemas), sound);
    int tried = 0;
    const auto try_one = [&](const std::function<void(BlockLayout*)>& change) {
      TokenFooter changed = footer;
      change(&changed.blocks[0]);
      const std::string bytes = WithFooter(sound, changed, schemas);
      if (bytes == sound) return;
      ++tried;
      const auto file = OpenBytes(bytes);
      if (!file.ok()) {
        EXPECT_TRUE(file.status().IsInvalid()) << file.status();
        return;
      }
      // What the footer says of another column's parts can be; rows are sound, then.
      const auto read = (*file)->Read(0, nullptr, true);
      EXPECT_TRUE(!read.ok() || read->rows->ValidateFull().ok());
      EXPECT_TRUE(read.ok() || read.status().IsInvalid()) << read.status();
    };
    constexpr int64_t kNumbers[] = {std::numeric_limits<int64_t>::min(),
                                    -64,
                                    -1,
                                    0,
                                    1,
                                    2,
                                    3,
                                    64,
                                    128,
                                    1 << 20,
                                    int64_t{1} << 31,
                                    int64_t{1} << 40,
                                    (int64_t{1} << 60) - 1,  // times 8 is -8
                                    int64_t{1} << 61,
                                    std::numeric_limits<int64_t>::max() - 63,
                                    std::numeric_limits<int64_t>::max()};
    for (const int64_t n : kNumbers) {
      const auto part = static_cast<int32_t>(n);
      try_one([&](BlockLayout* of) { of->block.rows = n; });
      try_one([&](BlockLayout* of) { of->block.tokens = n; });
      try_one([&](BlockLayout* of) { of->block.offset = n; });
      try_one([&](BlockLayout* of) { of->block.bytes = n; });
      try_one([&](BlockLayout* of) { of->schema = static_cast<uint32_t>(n); });
      try_one([&](BlockLayout* of) { of->message = part; });
      try_one([&](BlockLayout* of) { of->notes = part; });
      for (size_t i = 0; i < footer.blocks[0].parts.size(); ++i) {
        try_one([&](BlockLayout* of) { of->parts[i].offset = n; });
        try_one([&](BlockLayout* of) { of->parts[i].bytes = n; });
        try_one([&](BlockLayout* of) { of->parts[i].raw_bytes = n; });
        try_one([&](BlockLayout* of) { of->parts[i].bytes = of->parts[i].raw_bytes = n; });
        try_one([&](BlockLayout* of) {
          of->parts[i].compression = static_cast<Compression>(static_cast<int>(n));
        });
      }
      for (size_t i = 0; i < footer.blocks[0].columns.size(); ++i) {
        try_one([&](BlockLayout* of) {
          of->columns[i].encoding = static_cast<ColumnEncoding>(static_cast<uint32_t>(n));
        });
        try_one([&](BlockLayout* of) { of->columns[i].offsets = part; });
        try_one([&](BlockLayout* of) { of->columns[i].values = part; });
        try_one([&](BlockLayout* of) { of->columns[i].valid_rows = part; });
        try_one([&](BlockLayout* of) { of->columns[i].valid_values = part; });
        try_one([&](BlockLayout* of) { of->columns[i].num_values = n; });
        try_one([&](BlockLayout* of) {  // which needs no bytes
          of->columns[i].encoding = ColumnEncoding::kConstant;
          of->columns[i].values = kNoPart;
          of->columns[i].num_values = n;
          if (i == 0) of->block.tokens = n;
        });
      }
      try_one([&](BlockLayout* of) { of->parts.resize(static_cast<size_t>(n) % 20); });
      try_one([&](BlockLayout* of) { of->columns.resize(static_cast<size_t>(n) % 20); });
    }
    EXPECT_GT(tried, 1000);
    // Schemas of any bytes.
    std::mt19937 random(5);
    for (int i = 0; i < 300; ++i) {
      std::vector<std::string> other = schemas;
      other[0][random() % other[0].size()] = static_cast<char>(random());
      const auto file = OpenBytes(WithFooter(sound, footer, other));
      if (file.ok()) (void)(*file)->Read(0, nullptr, true);
    }
  }
  // No more than the ones of kMostRepeated, 8 bytes each, which are refused by their offsets.
  EXPECT_LT(arrow::default_memory_pool()->max_memory(), int64_t{1} << 30);
}

}  // namespace
}  // namespace easydata::cache
