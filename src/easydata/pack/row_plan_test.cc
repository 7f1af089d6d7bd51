#include "easydata/pack/row_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

namespace easydata::pack {
namespace {

std::vector<int64_t> PositiveLengths(int count, int64_t longest, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> lengths(count);
  for (int64_t& length : lengths) length = 1 + random() % longest;
  return lengths;
}

/// Every token of every document is in the plan once, and no row is longer than it may be.
void CheckComplete(const RowPlan& plan, const std::vector<int64_t>& lengths, int32_t seq_length) {
  std::vector<std::vector<bool>> seen(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) seen[i].assign(lengths[i], false);
  for (int64_t row = 0; row < plan.num_rows(); ++row) {
    int64_t used = 0;
    for (int64_t p = plan.row_starts[row]; p < plan.row_starts[row + 1]; ++p) {
      const Piece& piece = plan.pieces[p];
      used += piece.length;
      for (int64_t t = piece.offset; t < piece.offset + piece.length; ++t) {
        EXPECT_FALSE(seen[piece.document][t]);
        seen[piece.document][t] = true;
      }
    }
    EXPECT_GT(used, 0);
    EXPECT_LE(used, seq_length);
  }
  for (const auto& tokens : seen) {
    EXPECT_EQ(std::count(tokens.begin(), tokens.end(), false), 0) << "a token was lost";
  }
}

RowPlan PlanPool(const std::vector<int64_t>& lengths, int32_t packers, int32_t seq_length) {
  RowPlan plan;
  PoolPlanner planner(packers, seq_length);
  for (size_t i = 0; i < lengths.size(); ++i)
    planner.Add(static_cast<int64_t>(i), lengths[i], &plan);
  planner.Flush(&plan);
  return plan;
}

/// First fit as the books have it, by looking at every row.
std::vector<std::vector<int64_t>> PlainFirstFit(const std::vector<int64_t>& lengths,
                                                int64_t seq_length) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<int64_t>> rows;
  std::vector<int64_t> used;
  for (int64_t document : order) {
    size_t row = 0;
    while (row < rows.size() && used[row] + lengths[document] > seq_length) ++row;
    if (row == rows.size()) {
      rows.emplace_back();
      used.push_back(0);
    }
    rows[row].push_back(document);
    used[row] += lengths[document];
  }
  return rows;
}

/// Best fit as the books have it, by looking at every row.
std::vector<std::vector<int64_t>> PlainBestFit(const std::vector<int64_t>& lengths,
                                               int64_t seq_length) {
  std::vector<int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<int64_t>> rows;
  std::vector<int64_t> used;
  for (int64_t document : order) {
    size_t best = rows.size();
    for (size_t row = 0; row < rows.size(); ++row) {
      if (used[row] + lengths[document] > seq_length) continue;
      if (best == rows.size() || used[row] > used[best]) best = row;
    }
    if (best == rows.size()) {
      rows.emplace_back();
      used.push_back(0);
    }
    rows[best].push_back(document);
    used[best] += lengths[document];
  }
  return rows;
}

std::vector<std::vector<int64_t>> DocumentsByRow(const RowPlan& plan) {
  std::vector<std::vector<int64_t>> rows(plan.num_rows());
  for (int64_t row = 0; row < plan.num_rows(); ++row) {
    for (int64_t p = plan.row_starts[row]; p < plan.row_starts[row + 1]; ++p) {
      rows[row].push_back(plan.pieces[p].document);
    }
  }
  return rows;
}

TEST(RowPlanTest, LosesNothingWhateverTheLengths) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    for (int64_t longest : {3, 8, 30}) {
      const auto lengths = PositiveLengths(1 + static_cast<int>(seed) * 7, longest, seed);
      CheckComplete(PlanFirstFit(lengths, 8), lengths, 8);
      CheckComplete(BestFitPlanner(8).Plan(lengths), lengths, 8);
      for (int packers : {1, 2, 4}) CheckComplete(PlanPool(lengths, packers, 8), lengths, 8);
    }
  }
  EXPECT_EQ(PlanFirstFit({}, 8).num_rows(), 0);
  EXPECT_EQ(BestFitPlanner(8).Plan({}).num_rows(), 0);
  EXPECT_EQ(PlanPool({}, 4, 8).num_rows(), 0);
}

TEST(RowPlanTest, FirstFitIsThatOfTheBooks) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const auto lengths = PositiveLengths(200, 1 + seed % 16, seed);
    EXPECT_EQ(DocumentsByRow(PlanFirstFit(lengths, 16)), PlainFirstFit(lengths, 16));
  }
}

TEST(RowPlanTest, BestFitIsThatOfTheBooks) {
  for (int32_t seq_length : {16, 63, 64, 100, 5000}) {
    BestFitPlanner planner(seq_length);  // the same one for all: it keeps nothing of a call
    for (uint32_t seed = 0; seed < 40; ++seed) {
      const auto lengths =
          PositiveLengths(1 + seed * 10, 1 + seq_length * (seed % 8 + 1) / 8 - 1, seed);
      ASSERT_EQ(DocumentsByRow(planner.Plan(lengths)), PlainBestFit(lengths, seq_length)) << seed;
    }
  }
}

TEST(RowPlanTest, TheFullestPlanIsABestFitOfItsDocuments) {
  int shorter = 0;
  BestFitPlanner planner(64);
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto lengths = PositiveLengths(1 + seed, seed % 3 == 0 ? 150 : 40, seed);
    int64_t count = 0;
    const RowPlan plan = planner.PlanFullest(lengths, &count);
    ASSERT_GE(2 * count, static_cast<int64_t>(lengths.size()));
    const std::vector<int64_t> taken(lengths.begin(), lengths.begin() + count);
    CheckComplete(plan, taken, 64);
    EXPECT_EQ(DocumentsByRow(plan), DocumentsByRow(planner.Plan(taken)));
    auto fill = [](const std::vector<int64_t>& documents, const RowPlan& rows) {
      return static_cast<double>(std::accumulate(documents.begin(), documents.end(), int64_t{0})) /
             static_cast<double>(rows.num_rows());
    };
    EXPECT_GE(fill(taken, plan), fill(lengths, planner.Plan(lengths)));
    shorter += taken.size() < lengths.size() ? 1 : 0;
  }
  EXPECT_GT(shorter, 20);
}

TEST(RowPlanTest, D41ManyDocumentsAreNotQuadratic) {
  // A quadratic search looks at 2 * 10^10 rows here: minutes. This takes a fraction of a second.
  const std::vector<int64_t> lengths(200000, 1025);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(PlanFirstFit(lengths, 2048).num_rows(), 200000);
  EXPECT_EQ(BestFitPlanner(2048).Plan(lengths).num_rows(), 200000);
  // Every second document leaves the same room, which the rest then fills.
  std::vector<int64_t> halves(200000, 1024);
  EXPECT_EQ(BestFitPlanner(2048).Plan(halves).num_rows(), 100000);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 10);
}

TEST(RowPlanTest, PoolFallsBackToPackerZero) {
  // 5 -> packer 0 (3 left), 6 -> packer 1 (2 left); 4 fits into neither: packer 0 is cut.
  const RowPlan plan = PlanPool({5, 6, 4}, 2, 8);
  ASSERT_EQ(plan.num_rows(), 3);
  EXPECT_EQ(plan.pieces[1].document, 2);
  EXPECT_EQ(plan.pieces[1].length, 3);
  EXPECT_EQ(plan.pieces[2].document, 2);
  EXPECT_EQ(plan.pieces[2].offset, 3);
  EXPECT_EQ(plan.pieces[3].document, 1);
}

}  // namespace
}  // namespace easydata::pack
