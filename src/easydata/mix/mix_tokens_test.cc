#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "easydata/exec/thread_pool.h"
#include "easydata/mix/mix_test_sources.h"
#include "easydata/stream/map_stage.h"
#include "easydata/stream/row_error.h"

namespace easydata::mix {
namespace {

__extension__ using Int128 = __int128;

struct Given {
  std::string name;
  std::vector<int64_t> lengths;
  double weight;
};

MixSettings ByTokens(const std::vector<Given>& sources, StopStrategy stop) {
  MixSettings options = Options({}, {}, stop);
  options.unit = MixUnit::kTokens;
  for (const Given& source : sources) {
    options.names.push_back(source.name);
    options.weights.push_back(source.weight);
  }
  return options;
}

std::vector<StageFactory> Factories(const std::vector<Given>& sources) {
  std::vector<StageFactory> out;
  for (size_t i = 0; i < sources.size(); ++i) {
    out.push_back(SourceOf(sources[i].name, sources[i].lengths, 1 + static_cast<int64_t>(i) % 9));
  }
  return out;
}

/// The reference implementation: looks at every source for every document.
std::vector<Example> LiteralTokenMix(const std::vector<Given>& sources, StopStrategy stop,
                                     size_t limit) {
  std::vector<int64_t> parts;
  double sum = 0;
  for (const Given& source : sources) sum += source.weight;
  int64_t left = TokenShares::kOne;
  for (const Given& source : sources) {
    parts.push_back(std::llround(source.weight / sum * TokenShares::kOne));
    left -= parts.back();
  }
  *std::max_element(parts.begin(), parts.end()) += left;
  std::vector<int64_t> given(sources.size(), 0), next(sources.size(), 0);
  std::vector<bool> whole(sources.size(), false);
  int64_t total = 0;
  std::vector<Example> out;
  while (out.size() < limit) {
    int best = -1;
    const auto length = [&](int i) {
      const auto& lengths = sources[i].lengths;
      if (next[i] < static_cast<int64_t>(lengths.size())) return lengths[next[i]];
      return int64_t{0};
    };
    for (int i = 0; i < static_cast<int>(sources.size()); ++i) {
      if (parts[i] == 0 || Int128{TokenShares::kOne} * given[i] > Int128{parts[i]} * total)
        continue;
      if (best < 0 || Int128{given[i] + length(i)} * parts[best] <
                          Int128{given[best] + length(best)} * parts[i]) {
        best = i;
      }
    }
    if (next[best] == static_cast<int64_t>(sources[best].lengths.size())) {
      if (stop == StopStrategy::kFirstExhausted) break;
      next[best] = 0;
      continue;
    }
    out.push_back({sources[best].name, next[best], length(best)});
    given[best] += length(best);
    total += length(best);
    ++next[best];
    if (stop == StopStrategy::kAllExhausted &&
        next[best] == static_cast<int64_t>(sources[best].lengths.size())) {
      whole[best] = true;
      bool all = true;
      for (size_t i = 0; i < sources.size(); ++i) all = all && (whole[i] || parts[i] == 0);
      if (all) break;
    }
  }
  return out;
}

std::vector<Given> RandomSources(std::mt19937_64* random, int n) {
  std::vector<Given> sources(n);
  for (int i = 0; i < n; ++i) {
    sources[i].name = "s" + std::to_string(i);
    const int rows = (*random)() % 4 == 0 ? 1 : 1 + static_cast<int>((*random)() % 60);
    const int longest = 1 + static_cast<int>((*random)() % 90);
    for (int r = 0; r < rows; ++r) {
      sources[i].lengths.push_back((*random)() % 5 == 0 ? 0 : (*random)() % longest);
    }
    sources[i].lengths[(*random)() % rows] = 1 + static_cast<int64_t>((*random)() % longest);
    sources[i].weight = (*random)() % 7 == 0 ? 0 : 1 + static_cast<double>((*random)() % 50);
  }
  sources[0].weight = 3;
  return sources;
}

void ExpectSharesAtEveryPrefix(const std::vector<Given>& sources,
                               const std::vector<Example>& examples) {
  double sum = 0;
  int64_t longest = 0;
  for (const Given& source : sources) {
    sum += source.weight;
    for (int64_t length : source.lengths) longest = std::max(longest, length);
  }
  std::map<std::string, size_t> indices;
  for (size_t i = 0; i < sources.size(); ++i) indices[sources[i].name] = i;
  std::vector<int64_t> given(sources.size(), 0);
  int64_t total = 0;
  for (size_t k = 0; k < examples.size(); ++k) {
    given[indices.at(examples[k].source)] += examples[k].tokens;
    total += examples[k].tokens;
    for (size_t i = 0; i < sources.size(); ++i) {
      const double due = sources[i].weight / sum * static_cast<double>(total);
      ASSERT_LE(std::abs(due - static_cast<double>(given[i])), static_cast<double>(longest) + 1e-3)
          << "source " << i << " behind example " << k;
    }
  }
}

TEST(MixTokensTest, EqualsTheLiteralRuleWithinOneDocumentAtEveryPrefix) {
  std::mt19937_64 random(17);
  for (int trial = 0; trial < 25; ++trial) {
    const auto sources = RandomSources(&random, 1 + static_cast<int>(random() % 9));
    for (auto stop :
         {StopStrategy::kRestart, StopStrategy::kFirstExhausted, StopStrategy::kAllExhausted}) {
      auto stage = Contract(Factories(sources), ByTokens(sources, stop)).make({}).ValueOrDie();
      const auto examples = Take(stage.get(), 1500);
      ASSERT_TRUE(examples == LiteralTokenMix(sources, stop, 1500)) << "trial " << trial;
      ExpectSharesAtEveryPrefix(sources, examples);
    }
  }
}

TEST(MixTokensTest, AThousandSourcesKeepTheirShares) {
  std::mt19937_64 random(19);
  auto sources = RandomSources(&random, 1000);
  for (Given& source : sources) source.weight += 1;
  auto stage =
      Contract(Factories(sources), ByTokens(sources, StopStrategy::kRestart)).make({}).ValueOrDie();
  const auto examples = Take(stage.get(), 6000);
  ASSERT_EQ(examples.size(), 6000u);
  ExpectSharesAtEveryPrefix(sources, examples);
  EXPECT_TRUE(examples == LiteralTokenMix(sources, StopStrategy::kRestart, 6000));
}

TEST(MixTokensTest, KeepsTheContract) {
  std::mt19937_64 random(23);
  std::vector<Given> sources = RandomSources(&random, 4);
  for (Given& source : sources) {
    source.weight += 1;
    while (source.lengths.size() < 700) {
      source.lengths.push_back(source.lengths[random() % source.lengths.size()] % 12);
    }
  }
  for (auto stop : {StopStrategy::kFirstExhausted, StopStrategy::kAllExhausted}) {
    CheckStageContract(Contract(Factories(sources), ByTokens(sources, stop)));
  }
}

TEST(MixTokensTest, KeepsTheContractUnderASchedule) {
  const std::vector<std::string> names = {"a", "b", "c"};
  MixSettings options = Options(names, {});
  options.unit = MixUnit::kTokens;
  options.schedule =
      WeightSchedule::Make(names, {{0, {0.9, 0.1, 0}}, {20, {0.1, 0.2, 0.7}}, {40, {0, 0.5, 0.5}}},
                           Interpolation::kLinear)
          .ValueOrDie();
  const auto a = Source("a", 2000, 50), b = Source("b", 2000, 30), c = Source("c", 1500, 7);
  for (int64_t row_tokens : {0, 16}) {
    options.clock = StepClock{{{0, 8}}, row_tokens};
    CheckStageContract(Contract({a, b, c}, options));
  }
}

TEST(MixTokensTest, RestoresDeepInARestartingMix) {
  std::mt19937_64 random(29);
  const auto sources = RandomSources(&random, 7);
  const auto contract = Contract(Factories(sources), ByTokens(sources, StopStrategy::kRestart));
  auto whole = contract.make({}).ValueOrDie();
  for (int k = 0; k < 12; ++k) {
    Take(whole.get(), 1);
    nlohmann::json cursor = whole->Save().ToJson();
    auto restored = contract.make({}).ValueOrDie();
    ASSERT_TRUE(restored->Restore(cursor).ok());
    nlohmann::json again = restored->Save().ToJson();
    EXPECT_EQ(again, cursor);
    auto other = contract.make({}).ValueOrDie();
    ASSERT_TRUE(other->Restore(cursor).ok());
    const auto rest = Take(restored.get(), 3000);
    EXPECT_TRUE(rest == Take(other.get(), 3000));
    nlohmann::json far, other_far;
    far = restored->Save().ToJson();
    other_far = other->Save().ToJson();
    EXPECT_EQ(far, other_far);
  }
}

// Drop counts of rows that were read, but not given out, count once these are.
TEST(MixTokensTest, DropCountsComeOnceAlsoWhereRowsWereLookedAtBefore) {
  const auto inner = Source("a", 400, 10);
  class DropsThird : public BatchOp {
   public:
    Result<std::shared_ptr<arrow::Schema>> OutputSchema(
        const std::shared_ptr<arrow::Schema>& input) const override {
      return input;
    }
    Result<Batch> Apply(Batch batch) const override {
      batch.dropped.push_back({"a", "third", batch.num_rows() / 3, 0});
      return batch;
    }
  };
  StageFactory dropping = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, inner(context));
    StageContext threads = context;
    threads.pool = std::make_shared<exec::ThreadPool>(1);
    return MakeMapStage(std::move(stage), std::make_shared<DropsThird>(), threads);
  };
  MixSettings options = Options({"a", "b"}, {1, 999}, StopStrategy::kFirstExhausted);
  options.unit = MixUnit::kTokens;
  auto stage = MakeMixStage({dropping, Source("b", 20'000, 100)}, options, {}).ValueOrDie();
  int64_t dropped = 0;
  for (int k = 0;; ++k) {
    auto batch = stage->Next().ValueOrDie();
    if (!batch.has_value()) break;
    for (const DropCount& count : batch->dropped) dropped += count.rows;
    // The rest comes from a stage that was restored here.
    nlohmann::json cursor = stage->Save().ToJson();
    stage = MakeMixStage({dropping, Source("b", 20'000, 100)}, options, {}).ValueOrDie();
    ASSERT_TRUE(stage->Restore(cursor).ok());
  }
  // 60 tokens of "a" are 20 rows, of two or three batches of 10.
  EXPECT_TRUE(dropped == 6 || dropped == 9) << dropped;
}

TEST(MixTokensTest, ASourceWithoutTokensIsAnErrorAndNoLoop) {
  const std::vector<Given> sources = {{"full", {3, 4}, 1}, {"blank", {0, 0, 0}, 1}};
  auto stage =
      Contract(Factories(sources), ByTokens(sources, StopStrategy::kRestart)).make({}).ValueOrDie();
  Status error;
  for (int k = 0; k < 5 && error.ok(); ++k) error = stage->Next().status();
  EXPECT_NE(error.message().find("sources[\"blank\"] has no tokens in any row of \"input_ids\""),
            std::string::npos)
      << error;
}

TEST(MixTokensTest, UntokenizedRowsAreAnErrorThatSaysWhatToDo) {
  const auto schema = arrow::schema({arrow::field("text", arrow::utf8())});
  StageFactory text = [=](const StageContext&) {
    return MakeMemoryStage({arrow::RecordBatch::MakeEmpty(schema).ValueOrDie()}, schema, "t", "m");
  };
  MixSettings options = Options({"a", "t"}, {1, 1});
  options.unit = MixUnit::kTokens;
  const Status error = MakeMixStage({Source("a", 3, 3), text}, options, {}).status();
  EXPECT_TRUE(error.IsTypeError());
  EXPECT_NE(error.message().find("sources[\"t\"]: a mix by tokens (unit=\"tokens\") needs lists of "
                                 "tokens in column \"input_ids\"; tokenize before mixing"),
            std::string::npos)
      << error;
}

TEST(MixTokensTest, AnErrorComesWhereItsSourcesTurnComes) {
  const std::vector<Given> sources = {{"a", std::vector<int64_t>(5, 3), 1},
                                      {"b", std::vector<int64_t>(500, 2), 4}};
  const auto inner = SourceOf("a", std::vector<int64_t>(9, 3), 1);
  StageFactory bad = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, inner(context));
    return MakeMapStage(std::move(stage), std::make_shared<FailsAtRow>(5), context);
  };
  const auto options = ByTokens(sources, StopStrategy::kFirstExhausted);
  const auto before = LiteralTokenMix(sources, StopStrategy::kFirstExhausted, 1000).size();
  const Status error = CheckErrorContract(Contract({bad, Factories(sources)[1]}, options),
                                          static_cast<int64_t>(before));
  EXPECT_NE(error.message().find("row 5: a bad row"), std::string::npos) << error;
}

}  // namespace
}  // namespace easydata::mix
