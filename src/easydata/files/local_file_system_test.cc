#include "easydata/files/local_file_system.h"

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/io_util.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "easydata/base/fault_point.h"

namespace easydata::files {
namespace {

namespace fs = std::filesystem;
using ::testing::Test;

const LocalFileSystem kFiles;

class LocalFileTest : public Test {
 protected:
  LocalFileTest() {
    std::string name = (fs::temp_directory_path() / "easydata-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::mt19937 random(1);
    content_.resize(500'001);
    for (char& c : content_) c = static_cast<char>(random());
    Write(content_);
  }
  ~LocalFileTest() override { fs::remove_all(folder_); }

  std::string Path() const { return (folder_ / "file").string(); }
  void Write(const std::string& content) const {
    std::ofstream(Path(), std::ios::binary) << content;
  }
  void SetTime(int64_t nanoseconds) const {
    const timespec time = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    const timespec times[] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, Path().c_str(), times, 0), 0);
  }
  FileInfo WithIdentity(IdentityKind kind) const {
    FileInfo file = kFiles.Stat(Path()).ValueOrDie();
    EXPECT_TRUE(kFiles.SetIdentity(kind, nullptr, &file).ok());
    return file;
  }
  /// The error of opening the file as it was listed.
  static void ExpectChanged(const Status& error, const std::string& sentence) {
    EXPECT_TRUE(error.IsIOError()) << error;
    EXPECT_TRUE(IsFileError(error));
    EXPECT_NE(error.message().find(sentence), std::string::npos) << error;
  }

  fs::path folder_;
  std::string content_;
};

TEST_F(LocalFileTest, GivesEveryRangeAsTheFileHasIt) {
  auto file = kFiles.Open(kFiles.Stat(Path()).ValueOrDie()).ValueOrDie();
  const auto size = static_cast<int64_t>(content_.size());
  EXPECT_EQ(file->GetSize().ValueOrDie(), size);
  for (const int64_t begin : {0, 1, 4095, 4096, 70'000, 499'999, 500'001}) {
    for (const int64_t length : {0, 1, 65'535, 65'536, 65'537, 300'000, 500'001}) {
      const auto buffer = file->ReadAt(begin, length).ValueOrDie();
      EXPECT_EQ(buffer->ToString(), content_.substr(begin, length)) << begin << " " << length;
      EXPECT_EQ(buffer->size(), std::min(length, size - begin));
    }
  }
  EXPECT_EQ(file->Read(3).ValueOrDie()->ToString(), content_.substr(0, 3));
  EXPECT_EQ(file->Read(4).ValueOrDie()->ToString(), content_.substr(3, 4));
  EXPECT_TRUE(file->ReadAt(-1, 3).status().IsInvalid());
}

TEST_F(LocalFileTest, LengthsThatNoFileHasTakeNoMemory) {  // A9
  auto file = kFiles.Open(kFiles.Stat(Path()).ValueOrDie()).ValueOrDie();
  EXPECT_EQ(file->ReadAt(100, int64_t{1} << 62).ValueOrDie()->size(), 500'001 - 100);
  EXPECT_EQ(file->ReadAt(int64_t{1} << 61, int64_t{1} << 62).ValueOrDie()->size(), 0);
}

TEST_F(LocalFileTest, FileThatIsCutWhileItIsReadIsAnErrorAndNoCrash) {  // A6, B4
  auto file = kFiles.Open(kFiles.Stat(Path()).ValueOrDie()).ValueOrDie();
  const auto before = file->ReadAt(0, 400'000).ValueOrDie();
  fs::resize_file(Path(), 1);
  ExpectChanged(
      file->ReadAt(50'000, 300'000).status(),
      Path() + " is not the file any more that was listed: it had 500001 bytes, changed ");
  ExpectChanged(file->ReadAt(0, 1).status(), "now it has 1 bytes, changed 20");
  fs::resize_file(Path(), 0);
  EXPECT_EQ(before->ToString(), content_.substr(0, 400'000));  // no view of the file
}

TEST_F(LocalFileTest, TellsAFileByItsTimeOrItsContentOrItsSize) {  // A7
  SetTime(1'700'000'000'123'456'789);
  const auto by_time = kFiles.Stat(Path()).ValueOrDie();
  const auto by_content = WithIdentity(IdentityKind::kContent);
  const auto by_size = WithIdentity(IdentityKind::kSize);
  for (const auto* file : {&by_time, &by_content, &by_size}) {
    EXPECT_TRUE(kFiles.Open(*file).ok());
    EXPECT_EQ(file->identity.mtime_ns, 1'700'000'000'123'456'789);
  }
  // Only the time is another.
  SetTime(1'700'000'000'123'456'790);
  ExpectChanged(kFiles.Open(by_time).status(),
                "it had 500001 bytes, changed 2023-11-14 22:13:20.123456789 UTC, now it has 500001 "
                "bytes, changed 2023-11-14 22:13:20.123456790 UTC; put that file back");
  EXPECT_TRUE(kFiles.Open(by_content).ok());
  EXPECT_TRUE(kFiles.Open(by_size).ok());
  // One byte is another.
  content_[300'000] ^= 1;
  Write(content_);
  ExpectChanged(kFiles.Open(by_content).status(), Path());
  EXPECT_TRUE(kFiles.Open(by_size).ok());
  // One byte more.
  Write(content_ + "x");
  for (const auto* file : {&by_time, &by_content, &by_size}) {
    ExpectChanged(kFiles.Open(*file).status(), "now it has 500002 bytes");
  }
  // One byte is gone.
  content_.pop_back();
  Write(content_);
  for (const auto* file : {&by_time, &by_content, &by_size}) {
    ExpectChanged(kFiles.Open(*file).status(), "now it has 500000 bytes");
  }
}

TEST_F(LocalFileTest, WhatIsNoRegularFileIsRefusedWithoutWaiting) {  // B5
  const std::string fifo = (folder_ / "fifo").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string name = (folder_ / "socket").string();
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
  const std::pair<std::string, const char*> cases[] = {
      {fifo, " is a FIFO (named pipe), no regular file"},
      {name, " is a socket, no regular file"},
      {"/dev/zero", " is a device, no regular file"}};
  for (const auto& [path, sentence] : cases) {
    ExpectChanged(kFiles.Stat(path).status(), path + sentence);
    // It may have been a file when it was listed.
    FileInfo was_a_file;
    was_a_file.uri = path;
    ExpectChanged(kFiles.Open(was_a_file).status(), path + sentence);
  }
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(kFiles.Stat(folder_.string()).status()), EISDIR);
  fs::create_symlink(Path(), folder_ / "link");
  auto link = kFiles.Open(kFiles.Stat((folder_ / "link").string()).ValueOrDie()).ValueOrDie();
  EXPECT_EQ(link->Read(4).ValueOrDie()->ToString(), content_.substr(0, 4));
}

TEST_F(LocalFileTest, MissingFileIsNamed) {
  const Status error = kFiles.Stat(Path() + "-none").status();
  ExpectChanged(error, "file-none");
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(error), ENOENT);
  const auto listed = kFiles.Stat(Path()).ValueOrDie();
  fs::remove(Path());
  ExpectChanged(kFiles.Open(listed).status(), "cannot open " + Path());
}

TEST_F(LocalFileTest, HashingEndsWhenItIsToldTo) {
  FileInfo file = kFiles.Stat(Path()).ValueOrDie();
  const auto stop = [] { return true; };
  EXPECT_TRUE(kFiles.SetIdentity(IdentityKind::kContent, stop, &file).IsCancelled());
  EXPECT_EQ(file.identity.kind, IdentityKind::kTime);
}

TEST_F(LocalFileTest, LooksIntoEachFolderOnceWhateverThePattern) {  // X16
  const fs::path deepest = [&] {
    fs::path path = folder_;
    for (int i = 0; i < 60; ++i) path /= "a";
    return path;
  }();
  fs::create_directories(deepest);
  std::ofstream(deepest / "x.jsonl") << "1";
  const auto all = [](ListedBy, std::string_view) { return true; };
  const std::string many = folder_.string() + "/**/a/**/a/**/a/**/a/**/a/**/a/**/";
  EXPECT_EQ(kFiles.List(many + "*.jsonl", all).ValueOrDie().files.size(), 1U);
  EXPECT_EQ(kFiles.List(many + "b/*.jsonl", all).ValueOrDie().files.size(), 0U);
}

TEST_F(LocalFileTest, FindsNamesPatternsAndLinks) {
  for (const char* name : {"d/a.txt", "d/e/a.txt", "d/.hidden/a.txt", "d/e/.a.txt"}) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << "1";
  }
  fs::create_directory_symlink(folder_ / "d", folder_ / "d" / "link");
  const auto listed = [&](const std::string& pattern) {
    const auto visible = [](ListedBy, std::string_view name) {
      return !name.starts_with('.') && name != "link";
    };
    std::string out;
    for (const ListedFile& file :
         kFiles.List((folder_ / pattern).string(), visible).ValueOrDie().files) {
      out += file.info.uri.substr(folder_.string().size() + 1) + " ";
    }
    return out;
  };
  EXPECT_EQ(listed("d"), "d/a.txt d/e/a.txt ");
  EXPECT_EQ(listed("d/**"), "d/a.txt d/e/a.txt ");
  EXPECT_EQ(listed("**/a.txt"), "d/a.txt d/e/a.txt ");
  EXPECT_EQ(listed("d/*/a.txt"), "d/e/a.txt d/link/a.txt ");
  EXPECT_EQ(listed("*/.hidden/a.txt"), "d/.hidden/a.txt ");
  EXPECT_EQ(listed("*/link/e/*"), "d/link/e/a.txt ");
  EXPECT_EQ(listed("d/e/.a.txt"), "d/e/.a.txt ");
  EXPECT_EQ(listed("?/../d/*.txt"), "d/a.txt ");
}

TEST_F(LocalFileTest, NamesFilesWhoseNamesAreNotText) {  // X17
  std::ofstream(folder_ / "a\xff.jsonl") << "1";
  const auto all = [](ListedBy, std::string_view) { return true; };
  const auto listing = kFiles.List((folder_ / "*.jsonl").string(), all).ValueOrDie();
  ASSERT_EQ(listing.files.size(), 1U);
  EXPECT_EQ(listing.files[0].info.uri, (folder_ / "a\\xff.jsonl").string());
  ExpectChanged(listing.files[0].problem, "a\\xff.jsonl is not UTF-8");
}

#ifdef EASYDATA_FAULT_POINTS
class FaultyFileTest : public LocalFileTest {
 protected:
  ~FaultyFileTest() override { SetFaultPlan(""); }
};

TEST_F(FaultyFileTest, InterruptedCallsAreMadeAgain) {  // E14
  const auto listed = kFiles.Stat(Path()).ValueOrDie();
  ASSERT_TRUE(SetFaultPlan("fail:open@1=4;fail:open@2=4;fail:read@1=4;fail:read@2=4"));
  auto file = kFiles.Open(listed).ValueOrDie();
  EXPECT_EQ(file->ReadAt(0, 500'001).ValueOrDie()->ToString(), content_);
}

TEST_F(FaultyFileTest, FailuresNamePathAndByte) {  // E14
  const auto listed = kFiles.Stat(Path()).ValueOrDie();
  ASSERT_TRUE(SetFaultPlan("fail:open@1=13"));
  const Status denied = kFiles.Open(listed).status();
  ExpectChanged(denied, "cannot open " + Path());
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(denied), EACCES);
  ASSERT_TRUE(SetFaultPlan("fail:read@2+=5;fail:allocate@3=12"));
  auto file = kFiles.Open(listed).ValueOrDie();
  EXPECT_TRUE(file->ReadAt(0, 100).ok());
  const Status failed = file->ReadAt(70'000, 100).status();
  ExpectChanged(failed, "cannot read " + Path() + " at byte 70000");
  EXPECT_EQ(arrow::internal::ErrnoFromStatus(failed), EIO);
  const Status no_memory = file->ReadAt(0, 100).status();
  EXPECT_TRUE(no_memory.IsOutOfMemory());
  EXPECT_NE(no_memory.message().find(Path()), std::string::npos) << no_memory;
}
#endif

}  // namespace
}  // namespace easydata::files
