#include "easydata/source/line_chunk.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "easydata/files/fetched_file.h"

namespace easydata::source {
namespace {

/// Lines of `longest` bytes and less, many of them short.
std::string Lines(uint64_t seed, int64_t bytes, int64_t longest, bool ends_in_newline) {
  std::mt19937_64 random(seed);
  std::string text = seed % 2 == 0 ? "\xef\xbb\xbf" : "";
  while (static_cast<int64_t>(text.size()) < bytes) {
    const auto length = random() % (random() % 50 == 0 ? longest : 200);
    text.append(length, static_cast<char>('a' + random() % 26));
    text += '\n';
  }
  if (!ends_in_newline) text += "the last line";
  return text;
}

/// A file of another machine, all of it announced in ranges of this size.
std::shared_ptr<files::FetchedFile> Fetched(const std::string& text, int64_t range) {
  auto file = std::make_shared<files::FetchedFile>(
      files::FileInfo{"http://there/file", static_cast<int64_t>(text.size()), {}},
      [&text](int64_t position, int64_t size, void* out) {
        std::memcpy(out, text.data() + position, static_cast<size_t>(size));
        return Status::OK();
      },
      [] {});
  std::vector<arrow::io::ReadRange> ranges;
  for (int64_t at = 0; range > 0 && at < static_cast<int64_t>(text.size()); at += range) {
    ranges.push_back({at, range});
  }
  EXPECT_TRUE(file->WillNeed(ranges).ok());
  return file;
}

class LineChunkTest : public testing::TestWithParam<int64_t> {};

// Reading where the bytes lie gives what copying gives, wherever ranges and lines end.
TEST_P(LineChunkTest, FetchedFilesHaveTheChunksOfFilesHere) {
  int in_place = 0;
  int chunks = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const std::string text =
        Lines(seed, 5 << 20, seed < 4 ? int64_t{2000} : int64_t{3} << 20, seed % 3 != 0);
    const auto size = static_cast<int64_t>(text.size());
    arrow::io::BufferReader here(arrow::Buffer::FromString(text));
    const auto there = Fetched(text, GetParam());
    for (int64_t k = 0; k * kChunkBytes < size; ++k) {
      ChunkBuffer copied, fetched;
      Status broken;
      int64_t bytes = 0;
      const auto wanted = *ReadLineChunk(&here, size, k, &copied, &bytes, &broken);
      const auto got = *ReadLineChunk(there.get(), size, k, &fetched, &bytes, &broken);
      ASSERT_TRUE(got == wanted) << "chunk " << k << " of text " << seed;
      ASSERT_TRUE(broken.ok());
      ++chunks;
      if (fetched.data() == nullptr) ++in_place;  // nothing was copied
      fetched.Release();
    }
  }
  if (GetParam() == 0) {
    EXPECT_LT(in_place, chunks / 4);  // but for ends of files, which are fetched by 64 kB
  } else if (GetParam() >= 8 << 20) {
    EXPECT_EQ(in_place, chunks);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranges, LineChunkTest,
                         testing::Values(0, 700'001, (1 << 20) + 1, (2 << 20) + 65'536, 16 << 20));

}  // namespace
}  // namespace easydata::source
