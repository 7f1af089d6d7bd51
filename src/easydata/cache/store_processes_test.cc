// Processes that share a store, and end in the middle.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "easydata/base/chosen_cases.h"
#include "easydata/base/fault_point.h"
#include "easydata/cache/store_for_tests.h"

namespace easydata::cache {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StoreProcesses : public StoreTest {
 protected:
  /// Runs work in a process of its own.
  static pid_t Start(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    work();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  static int Wait(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }

  /// Notes that a block was made, in a file for each.
  void NoteMade(int block) const {
    std::ofstream(root_ / ("made" + std::to_string(block)), std::ios::app) << "x";
  }
  std::string TimesMade(int block) const {
    return Content(root_ / ("made" + std::to_string(block)));
  }

  /// Finds blocks in their order, or makes them.
  void Read(BlockStore* store, int count) const {
    for (int i = 0; i < count; ++i) {
      auto found = Find(store, i);
      if (found.claim == nullptr) {
        EXPECT_TRUE(found.block->rows->Equals(*BlockOf(i).rows));
        continue;
      }
      NoteMade(i);
      std::this_thread::sleep_for(milliseconds(2));
      found.claim->Put(BlockOf(i));
    }
  }
};

TEST_F(StoreProcesses, FourInLockstepMakeEachBlockOnce) {
  constexpr int kBlocks = 40;
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    children.push_back(Start([&] { Read(Open().get(), kBlocks); }));
  }
  for (const pid_t child : children) EXPECT_EQ(Wait(child), 0);
  for (int i = 0; i < kBlocks; ++i) EXPECT_EQ(TimesMade(i), "x") << i;
  auto store = Open();
  for (int i = 0; i < kBlocks; ++i) ExpectKept(store.get(), i);
}

TEST_F(StoreProcesses, WhatADeadOneClaimedIsMadeByOthers) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = Start([&] {
    auto store = Open();
    auto put = Find(store.get(), 1), held = Find(store.get(), 2);
    put.claim->Put(BlockOf(1));
    EXPECT_EQ(::write(ready[1], "x", 1), 1);
    ::pause();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto store = Open();
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(100));
    ::kill(child, SIGKILL);
  });
  Make(store.get(), 2);
  killer.join();
  EXPECT_TRUE(WIFSIGNALED(Wait(child)));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(StoreProcesses, AForkedChildHasAStoreOfItsOwn) {
  auto store = Open();
  Make(store.get(), 1);
  const auto held = Find(store.get(), 2);
  const pid_t child = Start([&] {
    ExpectKept(store.get(), 1);  // by its parent's writer, who is told that it is wanted
    Make(store.get(), 3);
    EXPECT_TRUE(store->Flush().ok());
    ExpectKept(store.get(), 3);
  });
  EXPECT_EQ(Wait(child), 0);
  ExpectKept(store.get(), 3);
  ExpectKept(store.get(), 1);
  held.claim->Put(BlockOf(2));
  store.reset();
  store = Open();
  for (int i = 1; i < 4; ++i) ExpectKept(store.get(), i);
}

TEST_F(StoreProcesses, AParentsClaimsEndWithItThoughItsChildLives) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t parent = Start([&] {
    auto store = Open();
    const auto held = Find(store.get(), 1);
    if (::fork() == 0) {
      EXPECT_EQ(::write(ready[1], "x", 1), 1);
      ::sleep(5);
      ::_exit(0);
    }
    ::_exit(0);
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  Wait(parent);
  const auto begin = std::chrono::steady_clock::now();
  Make(Open().get(), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(3000));
  ::close(ready[0]);
  ::close(ready[1]);
}

#ifdef EASYDATA_FAULT_POINTS
class StoreCrash : public StoreProcesses {
 protected:
  static constexpr int kBlocks = 7;

  /// Three files with the index, one of them in place of another; a plan.
  void Run() const {
    TokenStoreOptions options;
    options.file_bytes = 1200;
    auto store = Open(options);
    store->NotePlan(KeyOf(0).plan, "{}");
    for (int i = 0; i < kBlocks; ++i) {
      auto found = Find(store.get(), i);
      if (found.claim != nullptr) found.claim->Put(BlockOf(i));
    }
    ASSERT_TRUE(store->Flush().ok());
    (void)PruneStore(Folder().string(), 3000, std::nullopt);
  }
  std::vector<std::pair<std::string, fs::path>> Calls() {
    const fs::path log = root_ / "log";
    EXPECT_EQ(Wait(Start([&] {
                SetFaultPlan("log=" + log.string());
                Run();
                SetFaultPlan("");
              })),
              0);
    std::vector<std::pair<std::string, fs::path>> calls;
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) {
      const size_t space = line.find(' ');
      calls.emplace_back(line.substr(0, space), line.substr(space + 1));
    }
    fs::remove_all(Folder());
    return calls;
  }
};

TEST_F(StoreCrash, KilledAnywhereTheStoreIsWhole) {
  const auto points = static_cast<int64_t>(Calls().size());
  ASSERT_GT(points, 50);
  RecordProperty("points", static_cast<int>(points));
  for (const int64_t k : ChosenCases(1, points + 1)) {
    if (HasFailure()) break;
    fs::remove_all(Folder());
    const int status = Wait(Start([&] {
      SetFaultPlan("kill@" + std::to_string(k));
      Run();
      SetFaultPlan("");
    }));
    // Threads take turns: the last few points may not be reached.
    EXPECT_TRUE(status == 0 || WTERMSIG(status) == SIGKILL) << k;
    auto store = Open();
    for (int i = 0; i < kBlocks; ++i) {
      auto found = Find(store.get(), i);  // there and right, or not there
      EXPECT_TRUE(!found.block.has_value() || found.block->rows->Equals(*BlockOf(i).rows)) << k;
      if (found.claim != nullptr) found.claim->Put(BlockOf(i));
    }
    EXPECT_EQ(store->stats().damaged_blocks, 0) << k;
    ASSERT_TRUE(store->Flush().ok());
    store = Open();
    for (int i = 0; i < kBlocks; ++i) ExpectKept(store.get(), i);
    EXPECT_THAT(FilesOf(".tmp"), IsEmpty()) << k;
  }
}

// A machine that stops may lose what was not waited for, in any order.
TEST_F(StoreCrash, NothingGetsItsNameBeforeItIsOnTheDisk) {
  std::set<fs::path> unsynced;  // files, and folders in which names came to be
  int token_files = 0, records = 0;
  fs::path last_written;
  for (const auto& [kind, path] : Calls()) {
    const bool is_index = path.filename() == "index";
    if (kind == "write") {
      if (is_index) {
        ++records;
        EXPECT_FALSE(unsynced.contains(Folder())) << "the index names a file that may be lost";
      }
      if (path.extension() != ".tokens" && path.filename() != "clock") unsynced.insert(path);
      if (path.extension() == ".tmp") last_written = path;
    }
    if (kind == "sync") unsynced.erase(path);
    if (kind != "rename") continue;
    EXPECT_FALSE(unsynced.contains(last_written)) << path;
    token_files += path.extension() == ".tokens" ? 1 : 0;
    unsynced.insert(path.parent_path());
  }
  EXPECT_GE(token_files, 3);
  EXPECT_GE(records, token_files);
  for (const fs::path& path : unsynced) ADD_FAILURE() << path << " was never waited for";
}
#endif

}  // namespace
}  // namespace easydata::cache
