// How full rows are, ours against Grain's at an equal window.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include "easydata/pack/grain_row_plan.h"
#include "easydata/pack/row_plan.h"

namespace easydata::pack {
namespace {

constexpr int32_t kRow = 2048;

struct Distribution {
  const char* name;
  std::function<double(std::mt19937*)> draw;
};

std::vector<Distribution> Distributions() {
  return {
      // The lengths of web text: mean 597.
      {"lognormal",
       [](std::mt19937* random) {
         constexpr double kSigma = 1.0;
         return std::lognormal_distribution<double>(std::log(597) - kSigma * kSigma / 2,
                                                    kSigma)(*random);
       }},
      {"uniform",
       [](std::mt19937* random) {
         return std::uniform_real_distribution<double>(1, kRow)(*random);
       }},
      {"bimodal",
       [](std::mt19937* random) {
         const bool is_long = (*random)() % 4 == 0;
         return std::normal_distribution<double>(is_long ? 1500 : 120, is_long ? 200 : 40)(*random);
       }},
      {"short", [](std::mt19937* random) { return 1.0 + (*random)() % 300; }},
  };
}

double Fill(int64_t tokens, int64_t rows) {
  return static_cast<double>(tokens) / (static_cast<double>(rows) * kRow);
}

TEST(PackFillTest, BestFitFillsRowsAtLeastAsGrainsDoes) {
  for (const auto& [name, draw] : Distributions()) {
    for (int32_t num_bins : {8, 32, 128, 512}) {
      std::mt19937 random(num_bins);
      std::vector<int64_t> lengths(40000);
      for (int64_t& length : lengths) {
        length = std::clamp<int64_t>(std::llround(draw(&random)), 1, kRow);
      }
      const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
      int64_t grain_rows = 0, groups = 0;
      GrainBinPlanner grain({true, num_bins, {kRow}, {}, 0});
      for (int64_t length : lengths) {
        if (*grain.Add({&length, 1})) continue;
        grain_rows += grain.Take().num_bins();
        ++groups;
        ASSERT_TRUE(*grain.Add({&length, 1}));
      }
      grain_rows += grain.Take().num_bins();
      ++groups;
      // Windows of as many documents as Grain takes into a group on average.
      const auto count = static_cast<int64_t>(lengths.size());
      const int64_t window = count / groups;
      int64_t rows = 0;
      BestFitPlanner ours(kRow);
      for (int64_t start = 0; start < count;) {
        const int64_t end = std::min(count, start + window);
        const std::vector<int64_t> part(lengths.begin() + start, lengths.begin() + end);
        int64_t taken = end - start;
        rows += (end == count ? ours.Plan(part) : ours.PlanFullest(part, &taken)).num_rows();
        start += taken;
      }
      EXPECT_GE(Fill(tokens, rows), Fill(tokens, grain_rows)) << name << " " << num_bins;
      const std::string key = std::string(name) + std::to_string(num_bins);
      RecordProperty(key, std::to_string(Fill(tokens, rows)));
      RecordProperty(key + "_grain", std::to_string(Fill(tokens, grain_rows)));
    }
  }
}

}  // namespace
}  // namespace easydata::pack
