#include "easydata/cache/token_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

#include "easydata/base/fault_point.h"
#include "easydata/base/hash.h"
#include "easydata/cache/store_for_tests.h"
#include "easydata/exec/notice.h"

namespace easydata::cache {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TokenStoreTest : public StoreTest {
 protected:
#ifdef EASYDATA_FAULT_POINTS
  ~TokenStoreTest() override { SetFaultPlan(""); }
#endif
};

TEST_F(TokenStoreTest, GivesWhatWasPut) {
  auto store = Open();
  for (int i = 0; i < 20; ++i) Make(store.get(), i);
  for (int i = 0; i < 20; ++i) ExpectKept(store.get(), i);
  ASSERT_TRUE(store->Flush().ok());
  for (int i = 0; i < 20; ++i) ExpectKept(store.get(), i);
  EXPECT_EQ(store->stats().written_blocks, 20);
  EXPECT_EQ(store->stats().written_bytes, BytesOfFiles());
  EXPECT_EQ(store->stats().misses, 20);
  store = Open();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(store->Facts(KeyOf(i)), FactsOf(i));
    ExpectKept(store.get(), i);
  }
  EXPECT_EQ(store->Facts(KeyOf(20)), std::nullopt);
  EXPECT_EQ(store->stats().hits, 20);
  EXPECT_EQ(store->stats().misses, 0);
  EXPECT_GT(store->stats().hit_bytes, 20 * 4);
}

TEST_F(TokenStoreTest, FilesAreCompleteAtTheirSizeAtRestAndAtTheEnd) {
  TokenStoreOptions options;
  options.file_bytes = 3000;
  auto store = OpenWith({.idle = milliseconds(50)}, options);
  for (int i = 0; i < 12; ++i) Make(store.get(), i);
  for (int wait = 0; store->stats().written_blocks < 12 && wait < 400; ++wait) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(store->stats().written_blocks, 12);
  const size_t files = TokenFiles().size();
  EXPECT_GT(files, 2);
  EXPECT_LT(files, 12);
  Make(store.get(), 12);
  store.reset();
  EXPECT_THAT(TokenFiles(), SizeIs(files + 1));
  EXPECT_THAT(FilesOf(".tmp"), IsEmpty());
}

TEST_F(TokenStoreTest, KeepsBlocksInMemoryAlone) {
  EXPECT_TRUE(TokenStore::Open("", {}).status().IsInvalid());
  TokenStoreOptions options;
  options.memory_blocks = 3;
  auto store = TokenStore::Open("", options).ValueOrDie();
  for (int i = 0; i < 3; ++i) Make(store.get(), i);
  ExpectKept(store.get(), 0);
  Make(store.get(), 3);  // 1 was used longest ago
  EXPECT_EQ(store->Facts(KeyOf(1)), std::nullopt);
  for (const int i : {0, 2, 3}) ExpectKept(store.get(), i);
  EXPECT_TRUE(store->Flush().ok());
}

TEST_F(TokenStoreTest, KeepsBlocksInMemoryBesideTheFolder) {
  Fill(5);
  TokenStoreOptions options;
  options.memory_blocks = 2;
  auto store = Open(options);
  for (int i = 0; i < 5; ++i) ExpectKept(store.get(), i);
  fs::remove_all(Folder());
  for (const int i : {3, 4}) ExpectKept(store.get(), i);
}

TEST_F(TokenStoreTest, AnIndexIsMadeAnewWhateverHappensToIt) {
  Fill(6);
  const fs::path index = Folder() / ".easydata" / "index";
  const std::string whole = Content(index);
  ASSERT_GT(whole.size(), 200);
  const auto expect_all = [&](const std::string& what) {
    auto store = Open();
    ASSERT_EQ(NumKept(store.get(), 6), 6) << what;
    ExpectKept(store.get(), 3);
    EXPECT_EQ(store->stats().damaged_blocks, 0) << what;
  };
  for (size_t at = 0; at < whole.size(); at += 7) {
    std::string content = whole;
    content[at] = static_cast<char>(content[at] ^ 0x41);
    Overwrite(index, content);
    expect_all("byte " + std::to_string(at));
    EXPECT_EQ(Content(index), whole) << "it is as it was";
    Overwrite(index, whole.substr(0, at));
    expect_all("cut at " + std::to_string(at));
  }
  fs::remove(index);
  expect_all("removed");
  Overwrite(index, std::string(100'000, 'E'));
  expect_all("of something else");
}

TEST_F(TokenStoreTest, OthersSeeWhatWasAdded) {
  auto one = Open(), other = Open();
  Make(one.get(), 1);
  ASSERT_TRUE(one->Flush().ok());
  ExpectKept(other.get(), 1);
  Make(other.get(), 2);
  ASSERT_TRUE(other->Flush().ok());
  ExpectKept(one.get(), 2);
  fs::remove(Folder() / ".easydata" / "index");
  Make(one.get(), 3);
  ASSERT_TRUE(one->Flush().ok());
  for (int i = 1; i < 4; ++i) ExpectKept(other.get(), i);
}

TEST_F(TokenStoreTest, AFolderThatIsRemovedCostsHits) {
  Fill(3);
  auto store = Open();
  fs::remove_all(Folder());
  EXPECT_FALSE(IsKept(store.get(), 0));
  Make(store.get(), 1);
  ASSERT_TRUE(store->Flush().ok());
  if (store->stats().dropped_blocks > 0) {
    Make(store.get(), 1);
    ASSERT_TRUE(store->Flush().ok());
  }
  ExpectKept(store.get(), 1);
  EXPECT_EQ(store->stats().damaged_blocks, 0);
  ExpectKept(Open().get(), 1);
}

TEST_F(TokenStoreTest, AFileThatIsOpenSurvivesItsRemoval) {
  Fill(3);
  auto store = Open();
  ExpectKept(store.get(), 0);
  for (const fs::path& path : TokenFiles()) fs::remove(path);
  ExpectKept(store.get(), 1);
}

TEST_F(TokenStoreTest, DamagedFilesAreSetAsideAndTheirBlocksMadeAgain) {
  for (const bool is_open : {false, true}) {
    for (const bool is_cut : {false, true}) {
      fs::remove_all(Folder());
      Fill(4);
      auto store = Open();
      if (is_open) ExpectKept(store.get(), 3);
      const fs::path path = TokenFiles().at(0);
      const std::string whole = Content(path);
      if (is_cut) {
        fs::resize_file(path, whole.size() / 2);
      } else {
        // In place, as a disk does it: some ids of the first block, of two bytes each.
        const size_t ids = whole.find(std::string("\5\0\6\0\7\0\10\0", 8));
        ASSERT_NE(ids, std::string::npos);
        std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
                .seekp(static_cast<int64_t>(ids))
            << "XXXX";
      }
      EXPECT_FALSE(IsKept(store.get(), 0)) << is_open << is_cut;
      EXPECT_EQ(store->stats().damaged_blocks, 1) << is_open << is_cut;
      EXPECT_THAT(TokenFiles(), IsEmpty());
      EXPECT_THAT(FilesOf(".damaged"), SizeIs(1));
      for (int i = 0; i < 4; ++i) Make(store.get(), i);
      ASSERT_TRUE(store->Flush().ok());
      EXPECT_EQ(Content(path), whole) << "the same blocks have the same name";
      for (int i = 0; i < 4; ++i) ExpectKept(store.get(), i);
      auto again = Open();
      for (int i = 0; i < 4; ++i) ExpectKept(again.get(), i);
    }
  }
}

TEST_F(TokenStoreTest, AnotherStoreReadsTheFileThatTookADamagedOnesPlace) {
  Fill(2);
  auto one = Open(), other = Open();
  ExpectKept(other.get(), 0);
  fs::resize_file(TokenFiles().at(0), 10);
  EXPECT_FALSE(IsKept(one.get(), 0));
  for (int i = 0; i < 2; ++i) Make(one.get(), i);
  ASSERT_TRUE(one->Flush().ok());
  ExpectKept(other.get(), 1);
  EXPECT_THAT(TokenFiles(), SizeIs(1));
}

TEST_F(TokenStoreTest, BlocksBeyondTheQueueAreDroppedAndMadeAgain) {
  TokenStoreOptions options;
  options.queue_bytes = 100;
  auto store = Open(options);
  Make(store.get(), 0);
  EXPECT_EQ(store->stats().dropped_blocks, 1);
  Make(store.get(), 0);  // its claim has ended
  EXPECT_EQ(store->Facts(KeyOf(0)), std::nullopt);
}

#ifdef EASYDATA_FAULT_POINTS
std::vector<std::string>* told = nullptr;

TEST_F(TokenStoreTest, AFullDiskCostsTheCacheAlone) {
  std::vector<std::string> notices;
  told = &notices;
  exec::ListenToNotices([](const std::string& text) noexcept { told->push_back(text); });
  Fill(3);
  auto store = OpenWith({.pause = milliseconds(150)});
  ASSERT_TRUE(SetFaultPlan("fail:write@2+=" + std::to_string(ENOSPC)));
  for (int i = 3; i < 9; ++i) Make(store.get(), i);
  ASSERT_TRUE(store->Flush().ok());
  Make(store.get(), 9);  // nothing is written now
  EXPECT_EQ(store->stats().dropped_blocks, 7);
  for (int i = 0; i < 3; ++i) ExpectKept(store.get(), i);
  Make(store.get(), 4);
  EXPECT_THAT(FilesOf(".tmp"), IsEmpty());
  ASSERT_TRUE(SetFaultPlan(""));
  std::this_thread::sleep_for(milliseconds(200));
  for (int i = 3; i < 9; ++i) Make(store.get(), i);
  ASSERT_TRUE(store->Flush().ok());
  for (int i = 3; i < 9; ++i) ExpectKept(store.get(), i);
  exec::ListenToNotices(nullptr);
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_THAT(notices[0], HasSubstr("No space left on device"));
}

TEST_F(TokenStoreTest, WhatCannotBeWrittenIsRead) {
  Fill(3);
  fs::remove_all(Folder() / ".easydata" / "index");
  ASSERT_TRUE(SetFaultPlan("fail:write@1+=" + std::to_string(EROFS)));
  auto store = OpenWith({.pause = milliseconds(1)});
  for (int i = 0; i < 3; ++i) ExpectKept(store.get(), i);
  Make(store.get(), 3);
  ASSERT_TRUE(store->Flush().ok());
  ASSERT_TRUE(SetFaultPlan(""));
  std::this_thread::sleep_for(milliseconds(5));
  Make(store.get(), 3);  // not tried again
  EXPECT_EQ(store->stats().dropped_blocks, 2);
}

TEST_F(TokenStoreTest, WhatCannotBeReadIsMadeAgain) {
  Fill(3);
  auto store = Open();
  ExpectKept(store.get(), 0);
  ASSERT_TRUE(SetFaultPlan("fail:read@1+=" + std::to_string(EIO)));
  EXPECT_FALSE(IsKept(store.get(), 1));
  EXPECT_EQ(store->stats().damaged_blocks, 1);
  EXPECT_THAT(TokenFiles(), SizeIs(1)) << "the disk's failure says nothing of the file";
}
#endif

TEST_F(TokenStoreTest, LeftOversOfTheDeadGoThoseOfTheLivingStay) {
  auto store = Open();
  Make(store.get(), 1);
  for (int wait = 0; FilesOf(".tmp").empty() && wait < 400; ++wait) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  const std::vector<fs::path> living = FilesOf(".tmp");
  ASSERT_THAT(living, SizeIs(1));
  Overwrite(Folder() / ".easydata" / "0123456789abcdef.tmp", "half a file");
  auto other = Open();
  EXPECT_EQ(FilesOf(".tmp"), living);
}

TEST_F(TokenStoreTest, AThousandStoresLeaveNothing) {
  const auto count = [](const char* what) {
    return std::distance(fs::directory_iterator(std::string("/proc/self/") + what), {});
  };
  Fill(1);
  const auto threads = count("task"), handles = count("fd");
  for (int i = 0; i < 1000; ++i) {
    auto store = Open();
    if (i % 20 == 0) Make(store.get(), i + 1);
    ExpectKept(store.get(), 0);
  }
  EXPECT_EQ(count("task"), threads);
  EXPECT_EQ(count("fd"), handles);
}

TEST_F(TokenStoreTest, OpenStoresAreFlushedAtTheEndOfAProcess) {
  auto store = Open();
  Make(store.get(), 1);
  FlushOpenStores();
  EXPECT_THAT(TokenFiles(), SizeIs(1));
  EXPECT_EQ(store->stats().written_blocks, 1);
}

TEST_F(TokenStoreTest, SaysWhatIsInAFolder) {
  EXPECT_TRUE(ListStore(Folder().string(), nullptr).status().IsInvalid());
  {
    auto store = Open();
    for (int i = 0; i < 3; ++i) Make(store.get(), i, 200, 1);
    for (int i = 0; i < 2; ++i) Make(store.get(), i, 100, 2);
    store->NotePlan(KeyOf(0, 1).plan, "{\"a\": 1}");
    store->NotePlan(KeyOf(0, 1).plan, "{\"a\": 2}");
  }
  const auto plans = ListStore(Folder().string(), nullptr).ValueOrDie();
  ASSERT_THAT(plans, SizeIs(2));
  for (const StoredPlan& plan : plans) {
    const bool is_one = plan.plan == KeyOf(0, 1).plan;
    EXPECT_EQ(plan.json, is_one ? "{\"a\": 1}" : "");
    EXPECT_EQ(plan.blocks, is_one ? 3 : 2);
    EXPECT_EQ(plan.rows, is_one ? 60 : 20);
    EXPECT_EQ(plan.tokens, is_one ? 600 : 200);
    EXPECT_GT(plan.bytes, plan.tokens * 2);
    EXPECT_LT(plan.used_seconds_ago, 100);
  }
  const auto never = [] { return false; };
  EXPECT_THAT(VerifyStore(Folder().string(), nullptr, never).ValueOrDie(), IsEmpty());
  std::fstream(TokenFiles().at(0), std::ios::in | std::ios::out | std::ios::binary).seekp(160)
      << "XXXX";
  const auto problems = VerifyStore(Folder().string(), nullptr, never).ValueOrDie();
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].file, TokenFiles().at(0).filename());
  EXPECT_TRUE(VerifyStore(Folder().string(), nullptr, [] { return true; }).status().IsCancelled());
}

TEST_F(TokenStoreTest, AFolderOfALaterVersionIsLeftAlone) {
  Fill(1);
  Overwrite(Folder() / "token_store.json", "{\"version\": 2}");
  const Status status = TokenStore::Open(Folder().string(), {}).status();
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_THAT(status.message(), HasSubstr("later EasyData"));
}

TEST_F(TokenStoreTest, AFileOfALaterVersionIsLeftAlone) {
  Fill(3);
  const fs::path later = TokenFiles().at(0);
  std::string content = Content(later);
  const auto put = [&content](size_t at, auto value) {
    std::memcpy(content.data() + at, &value, sizeof value);
  };
  const size_t trailer = content.size() - 64;
  put(8, uint32_t{2});
  put(56, Hash64(std::string_view(content).substr(0, 56)));
  put(trailer + 44, uint32_t{2});
  put(trailer + 48, Hash64(std::string_view(content).substr(trailer, 48)));
  Overwrite(later, content);
  for (const bool has_index : {true, false}) {
    if (!has_index) fs::remove(Folder() / ".easydata" / "index");
    auto store = Open();
    if (has_index) Make(store.get(), 1);
    ASSERT_TRUE(store->Flush().ok());
    EXPECT_EQ(store->stats().damaged_blocks, 0);
    ExpectKept(store.get(), 1);
    EXPECT_EQ(Content(later), content);
  }
  const auto problems = VerifyStore(Folder().string(), nullptr, [] { return false; }).ValueOrDie();
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].file, later.filename());
  EXPECT_THAT(problems[0].what, HasSubstr("version 2"));
}

TEST_F(TokenStoreTest, WhatIsNoFolderIsAnError) {
  Overwrite(root_ / "store", "a file");
  EXPECT_FALSE(TokenStore::Open(Folder().string(), {}).ok());
}

}  // namespace
}  // namespace easydata::cache
