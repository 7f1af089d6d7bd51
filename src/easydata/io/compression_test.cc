#include "easydata/io/compression.h"

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

#include "easydata/io/file_system.h"
#include "easydata/io/positioned_file.h"

namespace easydata::io {
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
    std::string now = content_;
    if (is_damaged_) now[at_] ^= 1;
    const auto part = std::string_view(now).substr(position, size);
    std::copy(part.begin(), part.end(), static_cast<char*>(out));
    return static_cast<int64_t>(part.size());
  }
  bool NoteDamage() override {
    ++notes;
    is_damaged_ = !is_remote_;
    return is_remote_;
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
    return OpenFile(StatFile(path).ValueOrDie()).ValueOrDie();
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

TEST_F(CompressionTest, ReadsDamageOfAnotherMachineOnceMore) {
  std::mt19937 random(1);
  std::string text(300'000, ' ');
  for (char& c : text) c = static_cast<char>('a' + random() % 20);
  const std::string packed = Pack(Compression::GZIP, text);
  // Near the end: the checksum alone may tell, of text that was taken in parts before.
  for (const size_t at : {size_t{500}, packed.size() / 2, packed.size() - 6}) {
    for (const int64_t piece : {int64_t{1} << 20, int64_t{1} << 12}) {
      auto file = std::make_shared<DamagedFile>(packed, at, /*is_remote=*/true);
      auto stream = ReadDecompressed(file, Compression::GZIP).ValueOrDie();
      std::string got;
      Status error;
      for (;;) {
        auto part = stream->Read(piece);
        error = part.status();
        if (!part.ok() || (*part)->size() == 0) break;
        got += (*part)->ToString();
      }
      EXPECT_EQ(file->notes, 1) << at;
      // It is all there, or the error says that a part of it was wrong.
      if (error.ok()) {
        EXPECT_EQ(got, text) << at;
      } else {
        EXPECT_THAT(error.message(), HasSubstr("is another one when it is read again")) << at;
        EXPECT_EQ(piece, 1 << 12) << at;
      }
    }
  }
}

TEST_F(CompressionTest, ReadsDamageOfThisMachineOnce) {
  auto file = std::make_shared<DamagedFile>(Pack(Compression::GZIP, std::string(9'000, 'x')), 12,
                                            /*is_remote=*/false);
  auto stream = ReadDecompressed(file, Compression::GZIP).ValueOrDie();
  EXPECT_THAT(stream->Read(1 << 20).status().message(), HasSubstr("damaged"));
  EXPECT_EQ(file->notes, 1);
}

}  // namespace
}  // namespace easydata::io
