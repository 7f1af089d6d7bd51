// Steps that grow, and steps that are asked for by number.

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "easydata/base/chosen_cases.h"
#include "easydata/loader/loader.h"
#include "easydata/loader/test_streams.h"

namespace easydata::loader {
namespace {

using Steps = std::vector<std::vector<std::string>>;

LoaderOptions Ramped(bool drop_last, int64_t passes = 1) {
  LoaderOptions options = Options(4, drop_last);
  options.steps.rampup = {{2, 2}, {3, 1}, {4, 3}};
  options.steps.passes = passes;
  return options;
}

std::vector<size_t> Sizes(const Steps& steps) {
  std::vector<size_t> sizes;
  for (const auto& step : steps) sizes.push_back(step.size());
  return sizes;
}

/// All rows one after the other.
std::vector<std::string> Joined(const Steps& steps) {
  std::vector<std::string> rows;
  for (const auto& step : steps) rows.insert(rows.end(), step.begin(), step.end());
  return rows;
}

TEST(RampupTest, SizesAreFactorsOfTheBatchSizeAndRowsComeOnce) {
  const auto plain = Joined(Drain(MakeLoader(SomePlan(), Options(1)).get()));
  ASSERT_EQ(plain.size(), 57u);
  auto loader = MakeLoader(SomePlan(), Ramped(false));
  const Steps first = Drain(loader.get());
  EXPECT_EQ(Sizes(first), (std::vector<size_t>{4, 4, 8, 4, 12, 12, 12, 1}));
  EXPECT_EQ(Joined(first), plain);
  // Steps count on in the next pass.
  const Steps second = Drain(loader.get());
  EXPECT_EQ(Sizes(second), (std::vector<size_t>{12, 12, 12, 12, 9}));
  EXPECT_EQ(Joined(second), plain);

  auto dropping = MakeLoader(SomePlan(), Ramped(true));
  const Steps kept = Drain(dropping.get());
  EXPECT_EQ(Steps(first.begin(), first.end() - 1), kept);
  EXPECT_EQ(dropping->stats().counts.sources().at("memory").dropped.at("drop_last"), 1);

  // A factor from step 0 on is one of the first step too.
  LoaderOptions options = Options(4, false);
  options.steps.rampup = {{0, 5}, {1, 1}};
  EXPECT_EQ(Sizes(Drain(MakeLoader(SomePlan(), options).get()))[0], 20u);
}

TEST(RampupTest, RestoredAtEveryStepOnAnyNumberOfRanks) {
  for (bool drop_last : {true, false}) {
    for (int64_t passes : {1, 2}) {
      auto whole = MakeLoader(SomePlan(true), Ramped(drop_last, passes));
      const Steps expected = Drain(whole.get());
      auto running = MakeLoader(SomePlan(true), Ramped(drop_last, passes));
      for (size_t k = 0; k <= expected.size(); ++k) {
        const nlohmann::json state = running->SaveState();
        for (int64_t world : {1, 2, 4}) {
          Steps joined(expected.size() - k);
          uint64_t digest = running->digest();
          std::string last;
          for (int64_t rank = 0; rank < world; ++rank) {
            LoaderOptions options = Ramped(drop_last, passes);
            options.steps.world_size = world;
            options.steps.rank = rank;
            auto loader = MakeLoader(SomePlan(true), options);
            ASSERT_TRUE(loader->LoadState(state).ok());
            const Steps mine = Drain(loader.get());
            ASSERT_EQ(mine.size(), joined.size()) << "all ranks end at the same step";
            for (size_t i = 0; i < mine.size(); ++i) {
              EXPECT_EQ(mine[i].size() * world,
                        world == 1 ? expected[k + i].size() : options.steps.SizeOf(k + i));
              joined[i].insert(joined[i].end(), mine[i].begin(), mine[i].end());
            }
            digest += loader->digest();
            if (last.empty()) last = loader->SaveState().dump();
            EXPECT_EQ(loader->SaveState().dump(), last);
          }
          for (size_t i = 0; i < joined.size(); ++i) {
            joined[i].resize(expected[k + i].size());  // less the rows that fill the last step up
            EXPECT_EQ(joined[i], expected[k + i]) << "step " << k + i << ", from " << k;
          }
          EXPECT_EQ(digest, whole->digest());
        }
        ASSERT_TRUE(running->Take().ok());
      }
    }
  }
}

TEST(RampupTest, WrongOnesAreNamedAndItIsPartOfTheState) {
  LoaderOptions options = Options(4);
  options.steps.rampup = {{-1, 2}};
  EXPECT_NE(Loader::Make(SomePlan(), options).status().message().find("batch_rampup[-1]"),
            std::string::npos);
  for (int64_t factor : {int64_t{0}, int64_t{-2}, int64_t{1} << 62}) {
    options.steps.rampup = {{3, factor}};
    EXPECT_NE(Loader::Make(SomePlan(), options).status().message().find("batch_rampup[3]"),
              std::string::npos);
  }
  const auto state = MakeLoader(SomePlan(), Ramped(true))->SaveState();
  const auto status = MakeLoader(SomePlan(), Options(4))->LoadState(state);
  EXPECT_NE(status.message().find("loader.batch_rampup"), std::string::npos) << status;
}

TEST(AtTest, IsTheBatchOfThatStepFromAnywhere) {
  const auto stride = static_cast<size_t>(ChosenCases().step);
  for (bool drop_last : {true, false}) {
    for (int64_t passes : {1, 2}) {
      for (int64_t world : {1, 2}) {
        LoaderOptions options = Ramped(drop_last, passes);
        options.steps.world_size = world;
        options.steps.rank = world - 1;
        auto whole = MakeLoader(SomePlan(true), options);
        Steps expected = Drain(whole.get());
        const size_t first = expected.size();
        for (auto& step : Drain(whole.get())) expected.push_back(std::move(step));
        auto running = MakeLoader(SomePlan(true), options);
        for (size_t k = 0; k <= expected.size() + 1; ++k) {
          const std::string state = running->SaveState().dump();
          const bool second = running->stats().epoch >= passes;
          const size_t end = second ? expected.size() : first;
          auto restored = MakeLoader(SomePlan(true), options);
          ASSERT_TRUE(restored->LoadState(running->SaveState()).ok());
          for (Loader* loader : {running.get(), restored.get()}) {
            for (size_t step = k % stride; step < end; step += stride) {
              auto batch = loader->At(static_cast<int64_t>(step));
              ASSERT_TRUE(batch.ok()) << batch.status() << " at " << k;
              EXPECT_EQ(Describe(*batch), expected[step]) << "step " << step << " at " << k;
              EXPECT_EQ(batch->step, static_cast<int64_t>(step));
            }
            EXPECT_EQ(loader->StepsUpTo(static_cast<int64_t>(end)).ValueOrDie(), end);
            EXPECT_EQ(loader->StepsUpTo(static_cast<int64_t>(end) + 9).ValueOrDie(), end);
            const auto behind = loader->At(static_cast<int64_t>(end)).status();
            EXPECT_TRUE(behind.IsIndexError()) << behind;
            EXPECT_NE(behind.message().find(" " + std::to_string(end) + " steps"),
                      std::string::npos)
                << behind;
          }
          EXPECT_EQ(running->SaveState().dump(), state);
          if (k <= first) {
            ASSERT_TRUE(running->Take().ok());
          } else if (k <= expected.size()) {
            const auto batch = running->Take();
            ASSERT_TRUE(batch.ok());
            EXPECT_EQ(Describe(**batch), expected[k - 1]) << "after reading elsewhere";
          }
        }
      }
    }
  }
}

TEST(AtTest, ReadsOnFromTheNearestPosition) {
  auto batches = MakeBatches(std::vector<int>(40, 1), false);
  std::atomic<int> begun_at_start{0};
  StreamPlan plan = PlanOf(batches);
  plan.make = [make = plan.make,
               &begun_at_start](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ++begun_at_start;
    return make(context);
  };
  auto loader = MakeLoader(plan, Options(4));
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(loader->Take().ok());
  EXPECT_TRUE(loader->At(-1).status().IsIndexError());
  EXPECT_EQ(loader->StepsUpTo(3).ValueOrDie(), 3);
  // What is passed over is not collated: rows that cannot be do not keep those after them away.
  auto schema = batches[0]->schema();
  arrow::Int64Builder missing;
  ASSERT_TRUE(missing.AppendNull().ok());
  batches[8] = *batches[8]->SetColumn(1, schema->field(1), *missing.Finish());
  auto broken = MakeLoader(PlanOf(batches), Options(4));
  ASSERT_TRUE(broken->LoadState(MakeLoader(PlanOf(batches), Options(4))->SaveState()).ok());
  EXPECT_TRUE(broken->At(1).ok());
  EXPECT_FALSE(broken->At(2).ok());
  auto behind = broken->At(9);
  ASSERT_TRUE(behind.ok()) << behind.status();
  EXPECT_EQ(Describe(*behind), Describe(*loader->At(9)));
}

TEST(AtTest, CanBeInterruptedAndEndsWithTheLoader) {
  StreamPlan endless = PlanOf(MakeBatches({4}, false));
  endless.make = [](const StageContext&) -> Result<std::unique_ptr<Stage>> {
    class Endless : public Stage {
     public:
      Result<std::optional<Batch>> Next() override {
        if (cancelled_) return Status::Cancelled("closed");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        Batch batch;
        batch.rows = rows_;
        return batch;
      }
      Cursor Save() const override { return Cursor(nlohmann::json::object()); }
      Status Restore(const nlohmann::json&) override { return Status::OK(); }
      void Cancel() override { cancelled_ = true; }
      std::shared_ptr<arrow::Schema> schema() const override { return rows_->schema(); }

     private:
      const std::shared_ptr<arrow::RecordBatch> rows_ = MakeBatches({4}, false)[0];
      std::atomic<bool> cancelled_{false};
    };
    return std::make_unique<Endless>();
  };
  auto loader = MakeLoader(endless, Options(4));
  int asked = 0;
  auto status = loader->At(1'000'000'000, [&asked] { return ++asked == 3; }).status();
  EXPECT_TRUE(status.IsCancelled()) << status;
  EXPECT_EQ(asked, 3);
  std::thread reading([&] { status = loader->At(1'000'000'000).status(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const auto begin = std::chrono::steady_clock::now();
  loader->Close();
  reading.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  EXPECT_TRUE(status.IsCancelled()) << status;
  EXPECT_TRUE(loader->At(0).status().IsInvalid());
}

TEST(TryTakeTest, TakesWhatIsReadyAndNothingElse) {
  auto loader = MakeLoader(SomePlan(), Options(10));
  EXPECT_FALSE(loader->TryTake().has_value()) << "nothing has been asked for";
  const Steps expected = Drain(MakeLoader(SomePlan(), Options(10)).get());
  Steps taken;
  while (loader->Wait(10)) {
    auto batch = loader->TryTake();
    if (!batch.has_value()) break;  // the end is for Take()
    taken.push_back(Describe(*batch));
  }
  EXPECT_EQ(taken, expected);
  EXPECT_FALSE((*loader->Take()).has_value());
  EXPECT_EQ(loader->stats().batches, 5);
  loader->Close();
  EXPECT_FALSE(loader->TryTake().has_value());
}

TEST(TryPeekTest, ShowsTheBatchThatComesAndTakesNothing) {
  auto loader = MakeLoader(SomePlan(), Options(10));
  EXPECT_FALSE(loader->TryPeek().has_value()) << "nothing has been asked for";
  Steps peeked;
  Steps taken;
  while (loader->Wait(10)) {
    const auto before = loader->SaveState();
    auto next = loader->TryPeek();
    EXPECT_EQ(loader->SaveState(), before);
    EXPECT_EQ(loader->stats().batches, static_cast<int64_t>(taken.size()));
    auto batch = *loader->Take();
    EXPECT_EQ(next.has_value(), batch.has_value()) << "an end is not shown";
    if (!batch.has_value()) break;
    EXPECT_EQ(next->columns[0].data, batch->columns[0].data);
    peeked.push_back(Describe(*next));
    taken.push_back(Describe(*batch));
  }
  EXPECT_EQ(peeked, taken);
  EXPECT_EQ(taken, Drain(MakeLoader(SomePlan(), Options(10)).get()));
  ASSERT_TRUE(loader->Wait(10));
  EXPECT_TRUE(loader->TryPeek().has_value()) << "the next pass";
  loader->Close();
  EXPECT_FALSE(loader->TryPeek().has_value());
}

}  // namespace
}  // namespace easydata::loader
