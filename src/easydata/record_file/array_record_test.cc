#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/chosen_cases.h"
#include "easydata/exec/parallel_for.h"
#include "easydata/record_file/array_record_file.h"
#include "easydata/record_file/array_record_writer.h"
#include "easydata/record_file/file_windows.h"
#include "easydata/record_file/highway_hash.h"
#include "easydata/record_file/zstd_frame.h"

namespace easydata::record_file {
namespace {

using testing::HasSubstr;

/// Records of many sizes; some are longer than a block.
std::vector<std::string> SomeRecords(int count) {
  const size_t sizes[] = {0, 1, 5, 17, 100, 255, 4000, 0, 70'000, 65'536, 65'472, 24};
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    std::string record(sizes[i % std::size(sizes)], 'x');
    for (size_t j = 0; j < record.size(); ++j) record[j] = static_cast<char>(i * 131 + 7 * j);
    out.push_back(std::move(record));
  }
  return out;
}

std::string Written(const std::vector<std::string>& records, const std::string& options) {
  auto out = arrow::io::BufferOutputStream::Create().ValueOrDie();
  auto writer =
      ArrayRecordWriter::Make(out, ArrayRecordOptions::Parse(options).ValueOrDie()).ValueOrDie();
  for (const std::string& record : records) EXPECT_TRUE(writer->Write(record).ok());
  EXPECT_TRUE(writer->Finish().ok());
  return out->Finish().ValueOrDie()->ToString();
}

Result<std::shared_ptr<const ArrayRecordFile>> Opened(const std::string& bytes,
                                                      bool keeps = false) {
  return ArrayRecordFile::Open(
      std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(bytes)), keeps);
}

/// A record, or the error, by reading it alone.
std::string ReadAlone(const ArrayRecordFile& file, int64_t record) {
  RecordScratch scratch;
  Records held;
  const auto found = file.ReadRecord(record, &scratch, &held);
  return found.ok() ? "ok " + std::string(*found) : found.status().ToString();
}

/// The same by its chunk: the reference.
std::string ReadWithItsChunk(const ArrayRecordFile& file, int64_t record) {
  const int64_t k = file.ChunkOf(record);
  const auto found = file.ReadChunk(k);
  if (!found.ok()) return found.status().ToString();
  return "ok " + std::string((*found)[record - file.chunk(k).first_record]);
}

TEST(HighwayHash, OfShortTextsIsThatOfRiegeli) {
  // Of the block header and of the chunk header that every file begins with.
  const std::string begin = SignatureBytes();
  EXPECT_EQ(HighwayHashPortable(std::string_view(begin).substr(8, 16)), 0x3f4a880dd170af83);
  EXPECT_EQ(HighwayHashPortable(std::string_view(begin).substr(32, 32)), 0xa9e187923cc2ba91);
}

TEST(HighwayHash, IsTheSameWithVectors) {
  if (!HighwayHashHasAvx2()) GTEST_SKIP() << "the processor has no AVX2";
  const std::string text = SomeRecords(7)[6];
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t size = 0; size < 300; ++size) {
      const std::string_view part = std::string_view(text).substr(begin, size);
      ASSERT_EQ(HighwayHash(part), HighwayHashPortable(part)) << size;
    }
  }
}

class ArrayRecordTest : public testing::TestWithParam<const char*> {};

TEST_P(ArrayRecordTest, GivesWhatWasWritten) {
  for (const int count : {0, 1, 2, 16, 17, 100}) {
    const auto records = SomeRecords(count);
    const std::string bytes = Written(records, GetParam());
    EXPECT_EQ(bytes.size() % kBlockBytes, 0);
    const auto file = Opened(bytes).ValueOrDie();
    ASSERT_EQ(file->num_records(), count);
    std::vector<std::string> found;
    for (int64_t k = 0; k < file->num_chunks(); ++k) {
      EXPECT_EQ(file->chunk(k).first_record, static_cast<int64_t>(found.size()));
      const Records part = file->ReadChunk(k).ValueOrDie();
      for (int64_t i = 0; i < part.size(); ++i) found.emplace_back(part[i]);
    }
    EXPECT_EQ(found, records);
    // In any order, some of them twice.
    std::vector<int64_t> wanted;
    for (int i = 0; i < 2 * count; ++i) wanted.push_back(i * 37 % count);
    std::map<size_t, std::string> got;
    const Status read = file->Read(wanted, [&](size_t index, std::string_view record) {
      got[index] = record;
      return Status::OK();
    });
    ASSERT_TRUE(read.ok()) << read;
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(got[i], records[wanted[i]]);
  }
}

TEST_P(ArrayRecordTest, EveryDamagedByteIsFound) {
  const auto records = SomeRecords(8);
  const std::string bytes = Written(records, GetParam());
  const auto whole = Opened(bytes).ValueOrDie();
  const int64_t last_chunk = whole->num_chunks() - 1;
  for (size_t at = 0; at < bytes.size(); at = at < 400 ? at + 1 : at + 997) {
    std::string harmed = bytes;
    harmed[at] = static_cast<char>(harmed[at] ^ 0x10);
    const auto file = Opened(harmed);
    if (!file.ok()) continue;
    for (int64_t k = 0; k <= last_chunk; ++k) {
      const RecordChunk region = whole->chunk(k);
      const auto found = (*file)->ReadChunk(k);
      const bool is_in =
          static_cast<int64_t>(at) >= region.begin && static_cast<int64_t>(at) < region.end;
      // Padding up to the next chunk has nothing to find.
      if (!is_in) {
        ASSERT_TRUE(found.ok()) << at;
      } else if (found.ok()) {
        for (int64_t i = 0; i < found->size(); ++i) {
          ASSERT_EQ((*found)[i], records[region.first_record + i]) << at;
        }
      } else {
        EXPECT_THAT(found.status().message(), HasSubstr("chunk " + std::to_string(k) + " at byte " +
                                                        std::to_string(region.begin)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ArrayRecordTest,
                         testing::Values("uncompressed", "group_size:16,uncompressed", "",
                                         "group_size:3,zstd:9", "group_size:16,snappy",
                                         "group_size:5,brotli:4",
                                         "group_size:4,pad_to_block_boundary:true"));

TEST_P(ArrayRecordTest, ReadsALoneRecordAsItsChunk) {
  const auto records = SomeRecords(40);
  const std::string bytes = Written(records, GetParam());
  for (const bool keeps : {false, true}) {
    const auto file = Opened(bytes, keeps).ValueOrDie();
    for (int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(ReadAlone(*file, i), "ok " + records[static_cast<size_t>(i)]);
    }
    EXPECT_THAT(ReadAlone(*file, 40), HasSubstr("there is no record 40"));
    EXPECT_THAT(ReadAlone(*file, -1), HasSubstr("there is no record -1"));
  }
}

TEST_P(ArrayRecordTest, ThreadsReadTheSameFileAtOnce) {
  const auto records = SomeRecords(200);
  const std::string bytes = Written(records, GetParam());
  for (int round = 0; round < 2; ++round) {
    const auto file = Opened(bytes, /*keeps=*/true).ValueOrDie();
    const Status read = exec::ParallelFor(4, 4, [&](size_t thread) -> Status {
      RecordScratch scratch;
      Records held;
      for (int64_t i = 0; i < 200; ++i) {
        const int64_t record = (i * 37 + static_cast<int64_t>(thread)) % 200;
        ARROW_ASSIGN_OR_RAISE(const auto found, file->ReadRecord(record, &scratch, &held));
        if (found != records[static_cast<size_t>(record)])
          return Status::Invalid("record ", record);
      }
      return Status::OK();
    });
    EXPECT_TRUE(read.ok()) << read;
  }
}

TEST_P(ArrayRecordTest, ADamagedLoneRecordIsTheErrorOfItsChunk) {
  const std::vector<std::string> records = {"a", "", "some text, some text, some text", "end"};
  const std::string whole = Written(records, GetParam());
  const auto sound = Opened(whole).ValueOrDie();
  const auto end = static_cast<size_t>(sound->chunk(sound->num_chunks() - 1).end);
  const std::string zeros(128, '\0');
  // Within the padding of a block, one byte is as good as another.
  const auto is_padding = [&](size_t at) { return whole.compare(at - 64, 128, zeros) == 0; };
  const auto stride = static_cast<size_t>(ChosenCases().step);
  for (size_t at = 64; at < end; at += is_padding(at) ? stride : 1) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    for (const bool keeps : {false, true}) {
      const auto file = Opened(damaged, keeps).ValueOrDie();
      for (int64_t i = 0; i < file->num_records(); ++i) {
        ASSERT_EQ(ReadAlone(*file, i), ReadWithItsChunk(*file, i)) << at;
      }
    }
  }
}

TEST(ZstdFrame, FindsWhatIsStored) {
  using namespace std::string_view_literals;
  const std::string_view head = "\x28\xb5\x2f\xfd\x20\x02\x11\x00\x00"sv;
  EXPECT_EQ(StoredInZstd(std::string(head) + "ab"), "ab");
  std::string out(2, ' ');
  ASSERT_TRUE(
      DecompressZstd(std::string(head) + "ab", {reinterpret_cast<uint8_t*>(out.data()), 2}).ok());
  EXPECT_EQ(out, "ab");
  // Whatever else it is, zstd is to read it.
  EXPECT_EQ(StoredInZstd(std::string(head) + "abc"), "");
  EXPECT_EQ(StoredInZstd(std::string(head) + "a"), "");
  // With the size of a window in place of that of the content, as long as zstd takes it.
  for (const auto& [window, is_sound] :
       {std::pair{'\x00', true}, {'\x80', true}, {'\x88', false}}) {
    std::string other = std::string(head) + "ab";
    other[4] = 0;
    other[5] = window;
    EXPECT_EQ(StoredInZstd(other), is_sound ? "ab" : "");
    if (!is_sound) continue;
    EXPECT_TRUE(DecompressZstd(other, {reinterpret_cast<uint8_t*>(out.data()), 2}).ok());
  }
  for (size_t i = 0; i < head.size(); ++i) {
    std::string other = std::string(head) + "ab";
    other[i] ^= 0x42;
    EXPECT_EQ(StoredInZstd(other), "") << i;
  }
  EXPECT_FALSE(
      DecompressZstd("nothing of the kind", {reinterpret_cast<uint8_t*>(out.data()), 2}).ok());
  // An error is not left in the thread's context.
  EXPECT_TRUE(
      DecompressZstd(std::string(head) + "ab", {reinterpret_cast<uint8_t*>(out.data()), 2}).ok());
}

TEST(FileWindows, KeepNoMoreThanTheirShare) {
  const std::string bytes(3 << 20, 'x');
  const auto buffer = arrow::Buffer::FromString(bytes);
  std::vector<std::unique_ptr<arrow::io::BufferReader>> files;
  std::vector<std::unique_ptr<FileWindows>> windows;
  int64_t kept = 0;
  for (int i = 0; i < 100; ++i) {
    files.push_back(std::make_unique<arrow::io::BufferReader>(buffer));
    windows.push_back(std::make_unique<FileWindows>(files.back().get(), bytes.size()));
    for (int64_t at = 0; at < static_cast<int64_t>(bytes.size()); at += 256 << 10) {
      kept += windows.back()->View(at, at + 100).ValueOrDie().empty() ? 0 : 256 << 10;
    }
  }
  EXPECT_LE(kept, FileWindows::kMostOfProcess);
  EXPECT_GT(kept, FileWindows::kMostOfProcess / 2);
  windows.clear();
  const FileWindows again(files[0].get(), bytes.size());
  EXPECT_EQ(again.View(5, 8).ValueOrDie(), "xxx");
  // What reaches far into the next window is not there.
  EXPECT_EQ(again.View(0, 300 << 10).ValueOrDie(), "");
}

TEST(ArrayRecordFile, ACutFileIsRefused) {
  const std::string bytes = Written(SomeRecords(20), "group_size:4");
  for (const size_t size :
       {size_t{0}, size_t{64}, bytes.size() / 2, bytes.size() - 65'536, bytes.size() - 1}) {
    EXPECT_FALSE(Opened(bytes.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(Opened(bytes + '\0').ok());
  EXPECT_FALSE(Opened(bytes + std::string(65'536, '\0')).ok());
}

TEST(ArrayRecordFile, RefusesNumbersOfNoRecord) {
  const auto file = Opened(Written(SomeRecords(3), "")).ValueOrDie();
  const std::vector<int64_t> wanted = {0, 3};
  const Status status = file->Read(wanted, [](size_t, std::string_view) { return Status::OK(); });
  EXPECT_TRUE(status.IsIndexError());
  EXPECT_THAT(status.message(), HasSubstr("there is no record 3: the file has 3"));
}

TEST(ArrayRecordOptions, AreThoseOfArrayRecord) {
  const auto echo = [](const char* text) {
    return ArrayRecordOptions::Parse(text).ValueOrDie().ToString();
  };
  EXPECT_EQ(echo(""),
            "group_size:1,transpose:false,pad_to_block_boundary:false,zstd:3,window_log:20,"
            "max_parallelism:1");
  EXPECT_EQ(echo("group_size:16,uncompressed"),
            "group_size:16,transpose:false,pad_to_block_boundary:false,uncompressed,"
            "max_parallelism:1");
  EXPECT_EQ(echo("brotli,pad_to_block_boundary"),
            "group_size:1,transpose:false,pad_to_block_boundary:true,brotli:6,max_parallelism:1");
  for (const char* text : {"group_size:0", "group_size", "zstd:23", "brotli:12", "snappy:1",
                           "transpose:maybe", "gruop_size:2"}) {
    EXPECT_TRUE(ArrayRecordOptions::Parse(text).status().IsInvalid()) << text;
  }
  EXPECT_TRUE(ArrayRecordOptions::Parse("transpose").status().IsNotImplemented());
  EXPECT_TRUE(ArrayRecordOptions::Parse("window_log:22").status().IsNotImplemented());
}

}  // namespace
}  // namespace easydata::record_file
