#include "easydata/files/compression.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "easydata/files/held_bytes.h"
#include "easydata/files/local_file_system.h"
#include "easydata/files/positioned_file.h"

namespace easydata::files {
namespace {

namespace fs = std::filesystem;
using arrow::Compression;
using ::testing::HasSubstr;

/// A file that comes damaged until that is noted.
class DamagedFile final : public PositionedFile {
 public:
  DamagedFile(std::string content, size_t at, bool is_remote)
      : PositionedFile({"file", static_cast<int64_t>(content.size()), {}}),
        content_(std::move(content)),
        at_(at),
        is_remote_(is_remote) {}

  using PositionedFile::ReadAt;
  Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    const auto part = std::string_view(content_).substr(position, size);
    auto* const bytes = static_cast<char*>(out);
    std::copy(part.begin(), part.end(), bytes);
    const auto at = static_cast<size_t>(position);
    if (is_damaged_ && at_ >= at && at_ < at + part.size()) bytes[at_ - at] ^= 1;
    return static_cast<int64_t>(part.size());
  }
  bool is_of_another_machine() const override { return is_remote_; }
  void NoteDamage() override {
    ++notes;
    is_damaged_ = false;
  }

  int notes = 0;

 private:
  const std::string content_;
  const size_t at_;
  const bool is_remote_;
  bool is_damaged_ = true;
};

class CompressionTest : public ::testing::Test {
 protected:
  CompressionTest() {
    std::string name = (fs::temp_directory_path() / "easydata-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~CompressionTest() override { fs::remove_all(folder_); }

  static std::string Pack(Compression::type type, const std::string& text) {
    auto codec = arrow::util::Codec::Create(type).ValueOrDie();
    const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
    std::string out(codec->MaxCompressedLen(text.size(), bytes), '\0');
    out.resize(
        codec->Compress(text.size(), bytes, out.size(), reinterpret_cast<uint8_t*>(out.data()))
            .ValueOrDie());
    return out;
  }

  static std::shared_ptr<arrow::io::RandomAccessFile> Open(const std::string& path) {
    const LocalFileSystem files;
    return files.Open(files.Stat(path).ValueOrDie()).ValueOrDie();
  }

  /// A frame without data, as zstd and lz4 have them.
  static std::string Skippable(char kind, const std::string& content) {
    std::string out = {static_cast<char>(0x50 + kind), 0x2a, 0x4d, 0x18};
    for (int i = 0; i < 4; ++i) out += static_cast<char>(content.size() >> (8 * i));
    return out + content;
  }

  /// The text of a file and, after it, its error.
  std::string Read(const std::string& name, const std::string& content, Status* error) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    const auto file = Open((folder_ / name).string());
    auto codec = DetectCompression(file.get(), name);
    *error = codec.status();
    if (!codec.ok()) return "";
    auto stream = ReadDecompressed(file, *codec).ValueOrDie();
    std::string out;
    for (;;) {
      auto buffer = stream->Read(1000);
      *error = buffer.status();
      if (!buffer.ok() || (*buffer)->size() == 0) return out;
      out += (*buffer)->ToString();
    }
  }

  /// Damage that only the checksum at the end of some megabytes tells.
  static void ReadsAFileThatWasDamagedOnItsWay();

  fs::path folder_;
};

TEST_F(CompressionTest, FramesWithoutDataArePassedOver) {  // B11
  const std::string text(3000, 'x');
  const std::pair<Compression::type, const char*> codecs[] = {{Compression::ZSTD, "a.zst"},
                                                              {Compression::LZ4_FRAME, "a.lz4"}};
  for (const auto& [type, name] : codecs) {
    const std::string frame = Pack(type, text);
    const std::string skipped = Skippable(0, "hello") + Skippable(15, std::string(300'000, 'y'));
    for (const std::string& file :
         {skipped + frame, frame + skipped, skipped + frame + skipped + frame}) {
      for (const std::string& called : {std::string(name), std::string("without_suffix")}) {
        Status error;
        const std::string found = Read(called, file, &error);
        EXPECT_TRUE(error.ok()) << error;
        EXPECT_EQ(found.size(), file.size() > 2 * skipped.size() ? 6000u : 3000u);
        EXPECT_EQ(found.find_first_not_of('x'), std::string::npos);
      }
    }
    Status error;
    EXPECT_EQ(Read(name, skipped, &error), "");
    EXPECT_TRUE(error.ok()) << error;
  }
}

TEST_F(CompressionTest, ZerosBehindGzipArePadding) {  // B15
  const std::string member = Pack(Compression::GZIP, "some text\n");
  for (const size_t zeros : {size_t{1}, size_t{512}, size_t{1'000'000}}) {
    Status error;
    EXPECT_EQ(Read("a.gz", member + std::string(zeros, '\0'), &error), "some text\n");
    EXPECT_TRUE(error.ok()) << zeros << error;
    EXPECT_EQ(Read("a.gz", member + std::string(zeros, '\0') + member, &error),
              "some text\nsome text\n");
    EXPECT_TRUE(error.ok()) << zeros << error;
  }
}

TEST_F(CompressionTest, WhatFollowsCompressedDataIsAnErrorBehindIt) {  // B15
  const std::pair<Compression::type, const char*> codecs[] = {{Compression::GZIP, "a.gz"},
                                                              {Compression::ZSTD, "a.zst"},
                                                              {Compression::BZ2, "a.bz2"},
                                                              {Compression::LZ4_FRAME, "a.lz4"}};
  for (const auto& [type, name] : codecs) {
    auto codec = arrow::util::Codec::Create(type).ValueOrDie();
    auto compressor = codec->MakeCompressor().ValueOrDie();
    std::string packed(1 << 20, '\0');
    auto* out = reinterpret_cast<uint8_t*>(packed.data());
    const std::string text = "some text\n";
    const auto left = [&](int64_t size) { return static_cast<int64_t>(packed.size()) - size; };
    int64_t size = 0, taken = 0;
    while (taken < static_cast<int64_t>(text.size())) {  // lz4 writes its head first
      const auto* in = reinterpret_cast<const uint8_t*>(text.data()) + taken;
      const auto done =
          compressor
              ->Compress(static_cast<int64_t>(text.size()) - taken, in, left(size), out + size)
              .ValueOrDie();
      taken += done.bytes_read;
      size += done.bytes_written;
    }
    size += compressor->End(left(size), out + size).ValueOrDie().bytes_written;
    packed.resize(size);
    Status error;
    EXPECT_EQ(Read(name, packed, &error), text);
    EXPECT_TRUE(error.ok()) << name << error;
    EXPECT_EQ(Read(name, packed + "garbage, garbage", &error), text) << name;
    EXPECT_TRUE(error.IsIOError()) << name << error;
    EXPECT_THAT(error.message(), HasSubstr("the compressed file is damaged, or something follows "
                                           "its compressed data"));
  }
}

TEST_F(CompressionTest, LengthsThatTheDataDoesNotHaveTakeNoMemory) {
  const std::string packed = Pack(Compression::ZSTD, "some text\n");
  std::ofstream(folder_ / "a.zst", std::ios::binary) << packed;
  const auto file = Open((folder_ / "a.zst").string());
  auto stream = ReadDecompressed(file, Compression::ZSTD).ValueOrDie();
  EXPECT_EQ(stream->Read(int64_t{1} << 60).ValueOrDie()->ToString(), "some text\n");
}

/// Text that does not pack away to nothing.
std::string SomeText(size_t size) {
  std::mt19937_64 random(1);
  std::string text(size, ' ');
  for (size_t i = 0; i + 8 <= size; i += 8) {
    const uint64_t bits = random();
    for (int j = 0; j < 8; ++j) text[i + j] = static_cast<char>('a' + (bits >> (8 * j) & 15));
  }
  return text;
}

/// All that a file gives, in pieces, and its error.
std::string ReadPieces(const std::shared_ptr<DamagedFile>& file, const Codec& codec, int64_t piece,
                       Status* error) {
  auto stream = ReadDecompressed(file, codec).ValueOrDie();
  std::string got;
  for (;;) {
    auto part = stream->Read(piece);
    *error = part.status();
    if (!part.ok() || (*part)->size() == 0) return got;
    got += (*part)->ToString();
  }
}

void CompressionTest::ReadsAFileThatWasDamagedOnItsWay() {
  const std::string text = SomeText(3'000'000);
  const std::string packed = Pack(Compression::GZIP, text);
  auto file = std::make_shared<DamagedFile>(packed, packed.size() / 2, /*is_remote=*/true);
  Status error;
  EXPECT_TRUE(ReadPieces(file, Compression::GZIP, 1 << 20, &error) == text);
  EXPECT_TRUE(error.ok()) << error;
  EXPECT_EQ(file->notes, 1);
}

TEST_F(CompressionTest, ReadsDamageOfAnotherMachineOnceMore) {
  const std::string text = SomeText(3'000'000);
  const std::string packed = Pack(Compression::GZIP, text);
  // Near the end: the checksum alone may tell.
  for (const size_t at : {size_t{500}, packed.size() / 2, packed.size() - 6}) {
    for (const int64_t piece : {int64_t{1} << 20, int64_t{1} << 12}) {
      auto file = std::make_shared<DamagedFile>(packed, at, /*is_remote=*/true);
      Status error;
      EXPECT_TRUE(ReadPieces(file, Compression::GZIP, piece, &error) == text) << at;
      EXPECT_TRUE(error.ok()) << at << error;
      EXPECT_EQ(file->notes, 1) << at;
    }
  }
}

TEST_F(CompressionTest, ChecksEachMemberOfALargeFileBeforeItIsHandedOut) {
  const std::string member = SomeText(16 << 20);
  const std::string packed = Pack(Compression::GZIP, member);
  std::string all, text;
  for (int i = 0; i < 6; ++i) {  // more than is held
    all += packed;
    text += member;
  }
  auto file = std::make_shared<DamagedFile>(all, all.size() - 6, /*is_remote=*/true);
  Status error;
  EXPECT_TRUE(ReadPieces(file, Compression::GZIP, 1 << 20, &error) == text);
  EXPECT_TRUE(error.ok()) << error;
  EXPECT_EQ(file->notes, 1);
}

TEST_F(CompressionTest, MembersTooLargeToBeHeldEndInAnErrorWhereTheyWereWrong) {
  const std::string text = SomeText(HeldBytes::kMost + (1 << 20));
  const std::string packed = Pack(Compression::GZIP, text);
  for (const size_t at : {packed.size() / 2, packed.size() - 6}) {
    auto file = std::make_shared<DamagedFile>(packed, at, /*is_remote=*/true);
    Status error;
    const std::string got = ReadPieces(file, Compression::GZIP, 1 << 20, &error);
    EXPECT_EQ(file->notes, 1);
    if (error.ok()) {
      EXPECT_TRUE(got == text) << at;  // the checksum was what was damaged
    } else {
      EXPECT_FALSE(text.starts_with(got)) << at;
      EXPECT_THAT(error.message(), HasSubstr("is another one when it is read again")) << at;
    }
  }
}

TEST_F(CompressionTest, WhatWasHeldIsGivenBack) {
  const std::string text(HeldBytes::kMost, 'x');
  const std::string packed = Pack(Compression::ZSTD, text);
  Status error;
  for (int64_t i = 0; i <= HeldBytes::kMostOfProcess / HeldBytes::kMost; ++i) {
    auto file = std::make_shared<DamagedFile>(packed, 0, /*is_remote=*/true);
    file->NoteDamage();
    EXPECT_EQ(ReadPieces(file, Compression::ZSTD, 1 << 20, &error).size(), text.size());
  }
  ReadsAFileThatWasDamagedOnItsWay();
}

TEST_F(CompressionTest, FilesBeyondTheShareOfAProcessAreReadAsTheyCome) {
  const std::string packed = Pack(Compression::ZSTD, std::string(HeldBytes::kMost, 'x'));
  std::vector<std::shared_ptr<arrow::io::InputStream>> streams;
  for (int64_t i = 0; i < HeldBytes::kMostOfProcess / HeldBytes::kMost + 2; ++i) {
    auto file = std::make_shared<DamagedFile>(packed, 0, /*is_remote=*/true);
    file->NoteDamage();
    streams.push_back(ReadDecompressed(file, Compression::ZSTD).ValueOrDie());
    EXPECT_EQ(streams.back()->Read(1000).ValueOrDie()->ToString(), std::string(1000, 'x'));
  }
  for (const auto& stream : streams) {
    EXPECT_EQ(stream->Read(HeldBytes::kMost).ValueOrDie()->size(), HeldBytes::kMost - 1000);
    EXPECT_EQ(stream->Read(1).ValueOrDie()->size(), 0);
  }
  streams.clear();
  ReadsAFileThatWasDamagedOnItsWay();
}

TEST_F(CompressionTest, ReadsDamageOfThisMachineOnce) {
  auto file = std::make_shared<DamagedFile>(Pack(Compression::GZIP, std::string(9'000, 'x')), 12,
                                            /*is_remote=*/false);
  auto stream = ReadDecompressed(file, Compression::GZIP).ValueOrDie();
  EXPECT_THAT(stream->Read(1 << 20).status().message(), HasSubstr("damaged"));
  EXPECT_EQ(file->notes, 0);
}

}  // namespace
}  // namespace easydata::files
