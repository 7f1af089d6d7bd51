#include "easydata/pack/balance_stage.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "easydata/pack/documents_for_tests.h"

namespace easydata::pack {
namespace {

StageContract Balanced(const StageContract& packed, const BalanceOptions& options) {
  StageContract contract;
  contract.make = [=](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, packed.make(context));
    return MakeBalanceStage(std::move(stage), options);
  };
  return contract;
}

uint64_t Cost(const Row& row) {
  uint64_t cost = 0;
  for (const Span& span : row.spans) cost += static_cast<uint64_t>(span.length) * span.length;
  return cost;
}

/// Lengths of about web text (mean 597).
std::vector<int64_t> WebLengths(int count, uint32_t seed) {
  std::mt19937 random(seed);
  std::lognormal_distribution<double> draw(std::log(597) - 0.5, 1.0);
  std::vector<int64_t> lengths(count);
  for (int64_t& length : lengths) length = std::llround(draw(random)) + 1;
  return lengths;
}

TEST(BalanceStageTest, KeepsTheContract) {
  for (int64_t rows_per_batch : {1, 3, 4, 5, 8, 100}) {
    PackSettings options = Options(PackStrategy::kBestFit);
    options.pack_window = 13;
    options.rows_per_batch = rows_per_batch;
    const auto packed = Contract(options, RandomLengths(70, 20, 1), 9, true);
    CheckStageContract(Balanced(packed, {2, {{0, 4}}}));
    CheckStageContract(Balanced(packed, {1, {{0, 5}}}));
    CheckStageContract(Balanced(packed, {2, {{0, 2}, {3, 4}, {6, 8}}}));
    CheckStageContract(Balanced(Contract(options, {}, 5), {2, {{0, 4}}}));
    CheckStageContract(Balanced(Contract(options, {0, 0, 0}, 2), {2, {{0, 4}}}));
    CheckStageContract(Balanced(Contract(options, {3}, 5), {2, {{0, 4}}}));
  }
}

TEST(BalanceStageTest, ErrorsComeBehindTheRowsBeforeThem) {
  PackSettings options = Options(PackStrategy::kGreedy);
  options.overlong = Overlong::kError;
  options.rows_per_batch = 2;
  const auto packed = Contract(options, {7, 7, 7, 7, 7, 8, 7}, 2);
  const Status error = CheckErrorContract(Balanced(packed, {2, {{0, 4}}}), 5);
  EXPECT_NE(error.message().find("row 5"), std::string::npos) << error;
}

TEST(BalanceStageTest, EveryStepHasItsRowsAndTheLastKeepsItsOrder) {
  for (PackStrategy strategy : kStrategies) {
    PackSettings options = Options(strategy, 32);
    options.rows_per_batch = 5;
    const auto contract = Contract(options, RandomLengths(200, 40, 7), 9);
    const Packed plain = PackAll(contract);
    // 8 rows a step, from step 3 on 16.
    const Packed balanced = PackAll(Balanced(contract, {4, {{0, 8}, {3, 16}}}));
    ASSERT_EQ(balanced.rows.size(), plain.rows.size());
    size_t moved = 0;
    for (size_t start = 0, step = 0; start < plain.rows.size(); ++step) {
      const size_t size = step < 3 ? 8 : 16;
      const size_t end = std::min(start + size, plain.rows.size());
      std::multiset<std::vector<int32_t>> expected, got;
      for (size_t i = start; i < end; ++i) {
        expected.insert(plain.rows[i].ids);
        got.insert(balanced.rows[i].ids);
        // The spans are those of the row.
        for (const Span& span : balanced.rows[i].spans) {
          const int32_t token = balanced.rows[i].ids[span.row_offset];
          if (token != kEos) {
            EXPECT_EQ(token, Token(span.document.row, span.document_offset));
          }
        }
        moved += balanced.rows[i].ids != plain.rows[i].ids ? 1 : 0;
        if (end - start < size) {
          EXPECT_EQ(balanced.rows[i].ids, plain.rows[i].ids);
        }
      }
      EXPECT_EQ(got, expected) << "step " << step;
      start = end;
    }
    EXPECT_GT(moved, 10u);
  }
}

/// The mean over steps of how much more the costliest group costs than the mean one.
double Excess(const std::vector<Row>& rows, size_t batch, size_t groups) {
  double excess = 0;
  size_t steps = 0;
  for (size_t start = 0; start + batch <= rows.size(); start += batch, ++steps) {
    double most = 0, sum = 0;
    for (size_t g = 0; g < groups; ++g) {
      double cost = 0;
      for (size_t i = 0; i < batch / groups; ++i) {
        cost += static_cast<double>(Cost(rows[start + g * (batch / groups) + i]));
      }
      most = std::max(most, cost);
      sum += cost;
    }
    excess += most / (sum / static_cast<double>(groups)) - 1;
  }
  return excess / static_cast<double>(steps);
}

TEST(BalanceStageTest, GroupsCostAboutTheSame) {
  for (PackStrategy strategy : {PackStrategy::kGreedy, PackStrategy::kBestFit}) {
    PackSettings options = Options(strategy, 2048);
    options.rows_per_batch = 32;
    const auto contract = Contract(options, WebLengths(2000, 3), 100);
    const double before = Excess(PackAll(contract).rows, 32, 8);
    const double after = Excess(PackAll(Balanced(contract, {8, {{0, 32}}})).rows, 32, 8);
    RecordProperty(std::string(Name(strategy)) + "_before", std::to_string(before));
    RecordProperty(std::string(Name(strategy)) + "_after", std::to_string(after));
    EXPECT_LT(after, before / 10);
  }
}

TEST(BalancedOrderTest, IsAPermutationCloseToTheBest) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const int64_t groups = 1 + random() % 4;
    const size_t each = 1 + random() % (groups > 2 ? 2 : 3);
    std::vector<uint64_t> costs(groups * each);
    for (uint64_t& cost : costs) cost = random() % (round % 2 == 0 ? 10 : 1000000);
    const auto order = BalancedOrder(costs, groups);
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], static_cast<int64_t>(i));
    auto most = [&](const std::vector<int64_t>& rows) {
      uint64_t most = 0;
      for (int64_t g = 0; g < groups; ++g) {
        uint64_t sum = 0;
        for (size_t i = 0; i < each; ++i) sum += costs[rows[g * each + i]];
        most = std::max(most, sum);
      }
      return most;
    };
    uint64_t best = most(sorted);
    while (std::next_permutation(sorted.begin(), sorted.end())) best = std::min(best, most(sorted));
    // Within the bound of the greedy rule without limits: 4/3 of the best.
    EXPECT_LE(3 * most(order), 4 * best + 3);
  }
}

TEST(BalanceStageTest, RefusesGroupsThatDoNotDivideAStep) {
  const auto packed = Contract(Options(PackStrategy::kGreedy), {3}, 1);
  const Status status = Balanced(packed, {3, {{0, 6}, {10, 8}}}).make({}).status();
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_NE(status.message().find("balance_groups must divide the rows of every step"),
            std::string::npos);
  EXPECT_NE(status.message().find("8 rows of a step from step 10 on are no multiple of 3"),
            std::string::npos)
      << status;
  EXPECT_TRUE(Balanced(packed, {0, {{0, 6}}}).make({}).status().IsInvalid());
  EXPECT_TRUE(Balanced(packed, {2, {}}).make({}).status().IsInvalid());
}

}  // namespace
}  // namespace easydata::pack
