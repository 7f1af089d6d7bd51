#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "easydata/cache/store_for_tests.h"

namespace easydata::cache {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using StoreEvictionTest = StoreTest;

TEST_F(StoreEvictionTest, FilesUsedLongestAgoGoFirst) {
  const std::vector<fs::path> files = FillOneByOne(5);
  ASSERT_THAT(files, SizeIs(5));
  for (int i = 0; i < 5; ++i) UsedBefore(files[i], std::chrono::hours(10 - i));
  {
    auto store = Open();
    ExpectKept(store.get(), 0);  // touched
  }
  const auto size = static_cast<int64_t>(fs::file_size(files[0]));
  EXPECT_EQ(PruneStore(Folder().string(), 3 * size, std::nullopt).ValueOrDie(), 2 * size);
  auto store = Open();
  for (const int i : {0, 3, 4}) ExpectKept(store.get(), i);
  EXPECT_EQ(NumKept(store.get(), 5), 3);
}

TEST_F(StoreEvictionTest, TheLimitIsKeptWithinOneFile) {
  TokenStoreOptions options;
  options.max_bytes = 12'000;
  options.file_bytes = 2000;
  auto store = Open(options);
  int64_t most = 0;
  for (int i = 0; i < 60; ++i) {
    Make(store.get(), i);
    ASSERT_TRUE(i % 3 != 0 || store->Flush().ok());
    most = std::max(most, BytesOfFiles());
  }
  ASSERT_TRUE(store->Flush().ok());
  EXPECT_GT(most, 6000);
  EXPECT_LE(most, 12'000 + 5000) << "one file is written before others go";
  EXPECT_LE(BytesOfFiles(), 12'000);
  EXPECT_GT(store->stats().evicted_files, 5);
  EXPECT_GT(NumKept(store.get(), 60), 3);
  auto other = Open(options);
  EXPECT_EQ(NumKept(other.get(), 60), NumKept(store.get(), 60));
}

TEST_F(StoreEvictionTest, FilesExpireByTheirLastUse) {
  const std::vector<fs::path> files = FillOneByOne(4);
  UsedBefore(files[0], std::chrono::hours(30));
  UsedBefore(files[1], std::chrono::hours(20));
  // As a machine does whose clock is an hour ahead.
  UsedBefore(files[2], -std::chrono::hours(1));
  TokenStoreOptions options;
  options.expiry_seconds = 25 * 3600;
  auto store = Open(options);
  EXPECT_EQ(store->stats().evicted_files, 1);
  EXPECT_EQ(store->Facts(KeyOf(0)), std::nullopt);
  for (int i = 1; i < 4; ++i) ExpectKept(store.get(), i);
  // What a plan uses that runs here or in another process stays, however old.
  for (int i = 1; i < 4; ++i) UsedBefore(files[i], std::chrono::hours(100));
  options.expiry_seconds = 0;
  EXPECT_EQ(Open(options)->stats().evicted_files, 0);
  EXPECT_EQ(NumKept(store.get(), 4), 3);
  store.reset();
  UsedBefore(files[1], std::chrono::hours(1));
  EXPECT_EQ(Open(options)->stats().evicted_files, 3);
  EXPECT_THAT(TokenFiles(), IsEmpty());
}

TEST_F(StoreEvictionTest, OnlyWhatTheIndexNamesIsRemoved) {
  Fill(2);
  const fs::path own = TokenFiles().at(0);
  const std::vector<fs::path> others = {Folder() / "notes.txt", Folder() / "other.tokens",
                                        Folder() / (std::string(32, 'a') + ".tokens"),
                                        Folder() / ".easydata" / "mine"};
  for (const fs::path& path : others) Overwrite(path, "not a store's");
  EXPECT_GT(PruneStore(Folder().string(), 0, 0).ValueOrDie(), 0);
  EXPECT_FALSE(fs::exists(own));
  for (const fs::path& path : others) EXPECT_EQ(Content(path), "not a store's") << path;
}

}  // namespace
}  // namespace easydata::cache
