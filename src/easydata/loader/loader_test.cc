#include "easydata/loader/loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "easydata/exec/thread_pool.h"
#include "easydata/loader/test_streams.h"

namespace easydata::loader {
namespace {

TEST(LoaderTest, GivesEveryRowOnceInOrder) {
  for (bool prefetch : {true, false}) {
    LoaderOptions options = Options(10, false);
    options.prefetch = prefetch;
    auto loader = MakeLoader(SomePlan(), options);
    auto batches = Drain(loader.get());
    ASSERT_EQ(batches.size(), 6u);
    EXPECT_EQ(batches.back().size(), 7u);
    int n = 0;
    for (const auto& batch : batches) {
      for (const std::string& row : batch) {
        EXPECT_NE(row.find("n=" + std::to_string(n) + ","), std::string::npos) << row;
        ++n;
      }
    }
    EXPECT_EQ(n, 57);
    // The next pass follows.
    EXPECT_EQ(Drain(loader.get()), batches);
    EXPECT_EQ(loader->stats().epoch, 2);
  }
}

TEST(LoaderTest, DropLastCountsWhatItDrops) {
  auto loader = MakeLoader(SomePlan(), Options(10));
  EXPECT_EQ(Drain(loader.get()).size(), 5u);
  const LoaderStats stats = loader->stats();
  const auto& sources = stats.counts.sources();
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources.at("memory").tokens, 50 * 3);
  EXPECT_EQ(sources.at("memory").dropped.at("drop_last"), 7);
}

TEST(LoaderTest, StatsSayThemselvesAsJson) {
  auto loader = MakeLoader(SomePlan(), Options(10));
  EXPECT_EQ(Drain(loader.get()).size(), 5u);
  const auto stats = loader->stats().ToJson();
  for (const char* key : {"rows", "batches", "seconds", "wait_seconds", "io"}) {
    EXPECT_EQ(stats[key], stats["since_start"][key]) << key;
  }
  EXPECT_EQ(stats["rows"], 50);
  EXPECT_EQ(stats["stream"]["steps"], 5);
  EXPECT_TRUE(stats["stream"]["mix_end"].is_null());
  EXPECT_TRUE(stats["io"]["retries"].is_object());
  const auto& source = stats["sources"]["memory"];
  EXPECT_EQ(source["tokens"], 50 * 3);
  EXPECT_EQ(source["dropped"]["drop_last"], 7);
  EXPECT_EQ(stats["stream"]["sources"]["memory"], source);
}

TEST(LoaderTest, RestoredAtEveryStepTheRestIsEqual) {
  for (bool ragged : {false, true}) {
    for (int64_t batch_size : {1, 4, 10, 64}) {
      for (int64_t passes : {1, 2}) {
        LoaderOptions options = Options(batch_size, false);
        options.steps.passes = passes;
        auto loader = MakeLoader(SomePlan(ragged), options);
        auto whole = Drain(loader.get());
        auto second = Drain(loader.get());
        auto running = MakeLoader(SomePlan(ragged), options);
        size_t largest = 0;
        for (size_t step = 0; step <= whole.size(); ++step) {
          const nlohmann::json state = running->SaveState();
          largest = std::max(largest, state.dump().size());
          options.num_threads = 1 + static_cast<int>(step % 4);
          options.prefetch = step % 3 != 0;
          auto restored = MakeLoader(SomePlan(ragged), options);
          ASSERT_TRUE(restored->LoadState(state).ok()) << state;
          EXPECT_EQ(restored->SaveState().dump(), state.dump());
          const auto rest = Drain(restored.get());
          ASSERT_EQ(rest,
                    (std::vector<std::vector<std::string>>(whole.begin() + step, whole.end())))
              << "restored at step " << step << ": " << state;
          ASSERT_EQ(Drain(restored.get()), second);
          EXPECT_EQ(restored->stats().counts.ToJson(), loader->stats().counts.ToJson());
          if (step < whole.size()) {
            ASSERT_TRUE(running->Take().ok());
          }
        }
        EXPECT_LT(largest, 1024u);
        // At the end of the pass, once the end was given.
        ASSERT_FALSE((*running->Take()).has_value());
        auto after = MakeLoader(SomePlan(ragged), options);
        ASSERT_TRUE(after->LoadState(running->SaveState()).ok());
        EXPECT_EQ(Drain(after.get()), second);
      }
    }
  }
}

TEST(LoaderTest, RanksGiveTheGlobalBatches) {
  for (bool ragged : {false, true}) {
    for (bool drop_last : {true, false}) {
      auto whole = MakeLoader(SomePlan(ragged), Options(12, drop_last));
      const auto expected = Drain(whole.get());
      for (int64_t world : {2, 3, 4, 6}) {
        for (int threads : {1, 2, 4}) {
          std::vector<std::vector<std::string>> joined(expected.size());
          uint64_t digest = 0;
          std::string state;
          for (int64_t rank = 0; rank < world; ++rank) {
            LoaderOptions options = Options(12, drop_last);
            options.steps.world_size = world;
            options.steps.rank = rank;
            options.num_threads = threads;
            auto loader = MakeLoader(SomePlan(ragged), options);
            auto mine = Drain(loader.get());
            ASSERT_EQ(mine.size(), expected.size());
            for (size_t i = 0; i < mine.size(); ++i) {
              EXPECT_EQ(mine[i].size(), 12u / world);
              joined[i].insert(joined[i].end(), mine[i].begin(), mine[i].end());
            }
            digest += loader->digest();
            if (state.empty()) state = loader->SaveState().dump();
            EXPECT_EQ(loader->SaveState().dump(), state) << "rank " << rank;
          }
          EXPECT_EQ(digest, whole->digest());
          EXPECT_EQ(whole->SaveState().dump(), state);
          for (size_t i = 0; i < expected.size(); ++i) {
            // The last batch is filled up, so that every rank has a full one.
            ASSERT_EQ(joined[i].size(), 12u);
            joined[i].resize(expected[i].size());
            EXPECT_EQ(joined[i], expected[i]) << "step " << i << ", world " << world;
          }
        }
      }
    }
  }
}

TEST(LoaderTest, DigestsOfPartsAddUp) {
  auto whole = MakeLoader(SomePlan(), Options(5));
  Drain(whole.get());
  auto first = MakeLoader(SomePlan(), Options(5));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(first->Take().ok());
  auto rest = MakeLoader(SomePlan(), Options(5));
  ASSERT_TRUE(rest->LoadState(first->SaveState()).ok());
  Drain(rest.get());
  EXPECT_EQ(first->digest() + rest->digest(), whole->digest());
}

TEST(LoaderTest, StatesOfOtherStreamsAreRefusedByName) {
  auto loader = MakeLoader(SomePlan(), Options(5));
  auto state = loader->SaveState();
  auto other = MakeLoader(SomePlan(), Options(6));
  auto status = other->LoadState(state);
  ASSERT_TRUE(status.IsInvalid());
  EXPECT_NE(status.message().find("loader.batch_size changed, from 5 to 6"), std::string::npos)
      << status;
  EXPECT_FALSE(loader->LoadState({{"step", 1}}).ok());
  state["version"] = 99;
  EXPECT_NE(loader->LoadState(state).message().find("version 99"), std::string::npos);
  state = loader->SaveState();
  state.erase("skip");
  EXPECT_NE(loader->LoadState(state).message().find("skip"), std::string::npos);
}

TEST(LoaderTest, WrongOptionsAreNamed) {
  LoaderOptions options = Options(10);
  options.steps.world_size = 3;
  EXPECT_NE(Loader::Make(SomePlan(), options).status().message().find("multiple of world_size"),
            std::string::npos);
  options.steps.world_size = 2;
  options.steps.rank = 2;
  EXPECT_FALSE(Loader::Make(SomePlan(), options).ok());
  EXPECT_FALSE(Loader::Make(SomePlan(), Options(0)).ok());
}

/// Gives two batches, then an error or no answer.
class StuckStage : public Stage {
 public:
  StuckStage(std::unique_ptr<Stage> upstream, bool fail)
      : upstream_(std::move(upstream)), fail_(fail) {}
  Result<std::optional<Batch>> Next() override {
    if (count_++ < 2) return upstream_->Next();
    if (fail_) return Status::IOError("the disk went away");
    while (!cancelled_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status::Cancelled("closed");
  }
  Cursor Save() const override { return upstream_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return upstream_->Restore(cursor); }
  void Cancel() override { cancelled_ = true; }
  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }

 private:
  std::unique_ptr<Stage> upstream_;
  const bool fail_;
  int count_ = 0;
  std::atomic<bool> cancelled_{false};
};

StreamPlan StuckPlan(bool fail) {
  StreamPlan plan = PlanOf(MakeBatches({4, 4, 4, 4}, false));
  plan.make = [make = plan.make,
               fail](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    return std::make_unique<StuckStage>(std::move(stage), fail);
  };
  return plan;
}

int Threads() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    count += entry.is_directory();
  }
  return count;
}

TEST(LoaderTest, ErrorsComeAfterAllRowsBeforeAndStay) {
  for (bool prefetch : {true, false}) {
    LoaderOptions options = Options(3);
    options.prefetch = prefetch;
    auto loader = MakeLoader(StuckPlan(true), options);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE((*loader->Take()).has_value());
    const auto state = loader->SaveState();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(loader->Take().status().IsIOError());
    EXPECT_EQ(loader->SaveState(), state) << "an error does not move the position";
    // A loaded state is a new try; the stage fails after its first two batches again.
    ASSERT_TRUE(loader->LoadState(state).ok());
    EXPECT_TRUE(loader->Take().ok());
  }
}

TEST(LoaderTest, CloseEndsAWaitingReaderAndEveryThread) {
  const int before = Threads();
  auto loader = MakeLoader(StuckPlan(false), Options(4));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE((*loader->Take()).has_value());
  EXPECT_FALSE(loader->Wait(0.01));
  EXPECT_GT(Threads(), before);
  Status status;
  std::thread reader([&] { status = loader->Take().status(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto start = std::chrono::steady_clock::now();
  loader->Close();
  reader.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_TRUE(status.IsCancelled()) << status;
  // The system lists a thread for a moment after it was joined.
  while (Threads() != before &&
         std::chrono::steady_clock::now() - start < std::chrono::seconds(2)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(Threads(), before);
  EXPECT_TRUE(loader->Take().status().IsInvalid());
  loader->Close();
}

TEST(LoaderTest, PrefetchingIsBounded) {
  LoaderOptions options = Options(1);
  options.prefetch_batches = 2;
  std::atomic<int> pulled{0};
  StreamPlan plan = PlanOf(MakeBatches(std::vector<int>(50, 1), false));
  plan.make = [make = plan.make, &pulled](const StageContext& context) {
    ++pulled;
    return make(context);
  };
  auto loader = MakeLoader(plan, options);
  EXPECT_EQ(pulled, 0) << "nothing is read before the first batch is asked for";
  ASSERT_TRUE((*loader->Take()).has_value());
  EXPECT_EQ(Drain(loader.get()).size(), 49u);
  EXPECT_EQ(pulled, 1);
}

/// Batches that are ready once no more are made.
int64_t Ready(Loader* loader) {
  int64_t ready = -1;
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int64_t now = loader->stats().queue.batches;
    if (now == ready) return now;
    ready = now;
  }
}

TEST(LoaderTest, WhatIsReadyGrowsWithBurstsOnlyAndWithinItsBytes) {
  const StreamPlan plan = PlanOf(MakeBatches(std::vector<int>(2000, 1), false));
  LoaderOptions options = Options(1);
  options.prefetch_batches = 2;
  auto steady = MakeLoader(plan, options);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((*steady->Take()).has_value());
    EXPECT_EQ(Ready(steady.get()), 2);
  }
  const auto take_in_bursts = [](Loader* loader) {
    int64_t most = 0;
    for (int burst = 0; burst < 6; ++burst) {
      while (loader->stats().queue.batches > 0 || burst == 0) {
        EXPECT_TRUE((*loader->Take()).has_value());
        if (burst == 0) break;
      }
      EXPECT_TRUE((*loader->Take()).has_value());
      most = std::max(most, Ready(loader));
    }
    return most;
  };
  auto bursts = MakeLoader(plan, options);
  const int64_t most = take_in_bursts(bursts.get());
  EXPECT_GE(most, 8);
  EXPECT_LE(most, 64);
  const int64_t bytes = bursts->stats().queue.bytes / bursts->stats().queue.batches;
  EXPECT_EQ(bytes, 3 * 4 + 8);
  options.prefetch_bytes = 4 * bytes - 1;
  EXPECT_EQ(take_in_bursts(MakeLoader(plan, options).get()), 3);
  options.prefetch_bytes = bytes - 1;  // one is made all the same
  EXPECT_EQ(take_in_bursts(MakeLoader(plan, options).get()), 1);
}

#if !defined(__SANITIZE_THREAD__)  // TSan does not follow threads that start after a fork
TEST(LoaderTest, AForkedChildGoesOnByItself) {
  auto loader = MakeLoader(SomePlan(), Options(5));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*loader->Take()).has_value());
  const pid_t child = fork();
  if (child == 0) {
    const auto rest = Drain(loader.get());
    loader->Close();
    _exit(rest.size() == 8 && rest[0][0].find("n=15,") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(Drain(loader.get()).size(), 8u);
}
#endif

}  // namespace
}  // namespace easydata::loader
