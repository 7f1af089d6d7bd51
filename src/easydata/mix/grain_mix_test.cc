#include "easydata/mix/grain_mix.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "easydata/base/recorded_values.h"

namespace easydata::mix {
namespace {

uint64_t Encode(const GrainMix::SourceRow& picked) {
  return picked.source * 1'000'000 + picked.row;
}

using GrainMixRecordedTest = RecordedValuesTest;
INSTANTIATE_TEST_SUITE_P(By, GrainMixRecordedTest, BothRecorders(), RecorderName);

TEST_P(GrainMixRecordedTest, EqualsRecordedValues) {
  constexpr uint64_t kLengthWhereNotSaid = 50;
  size_t compared = 0;
  const auto recorded = Read("grain/mix.json");
  for (const auto& one : recorded["cases"]) {
    if (one.contains("note")) continue;  // another number of weights than of data sets
    std::vector<double> weights;
    if (!one["weights"].is_null()) weights = one["weights"].get<std::vector<double>>();
    if (weights.empty()) weights.assign(one["lengths"].size(), 1.0);
    const auto mix = GrainMix::Make(weights);
    if (one.contains("error")) {
      EXPECT_TRUE(mix.status().IsInvalid()) << one;
      continue;
    }
    ASSERT_TRUE(mix.ok()) << mix.status();
    const auto expect = [&](const char* key) {
      if (!one.contains(key)) return;
      for (uint64_t row = 0; row < one[key].size(); ++row) {
        GrainMix::SourceRow picked = mix->At(row);
        const uint64_t length = one.contains("lengths")
                                    ? one["lengths"][picked.source].get<uint64_t>()
                                    : kLengthWhereNotSaid;
        picked.row %= length;
        ASSERT_EQ(Encode(picked), one[key][row]) << key << " " << row << " of " << one["weights"];
        ++compared;
      }
    };
    expect("map");
    expect("map_repeated_first_300");
    expect("iter");
    expect("first_60");
    if (!one.contains("lengths")) continue;
    const auto lengths = one["lengths"].get<std::vector<uint64_t>>();
    EXPECT_EQ(mix->Length(lengths), one["map_len"]) << one["weights"];
    // The iterator goes on until a data set is asked for more than it has.
    uint64_t rows = 0;
    while (mix->At(rows).row < lengths[mix->At(rows).source]) ++rows;
    EXPECT_EQ(rows, one["iter_total"]) << one["weights"];
  }
  EXPECT_GT(compared, Own() ? 3'000u : 5'000u);
}

// Each data set's rows come in order, one by one, and its share is within one row at every prefix.
TEST(GrainMixTest, SharesAreExactAtEveryPrefix) {
  const std::vector<double> weights = {5, 1, 2.5, 0.5, 1};
  const auto mix = GrainMix::Make(weights).ValueOrDie();
  std::vector<int64_t> taken(weights.size());
  for (uint64_t row = 0; row < 20'000; ++row) {
    const GrainMix::SourceRow picked = mix.At(row);
    ASSERT_EQ(mix.Given(row), taken) << row;
    ASSERT_EQ(picked.row, taken[picked.source]++) << row;
    for (size_t i = 0; i < weights.size(); ++i) {
      const double due = static_cast<double>(row + 1) * weights[i] / 10;
      ASSERT_NEAR(static_cast<double>(taken[i]), due, static_cast<double>(weights.size() - 1))
          << row;
    }
  }
}

TEST(GrainMixTest, FarRowsTakeNoLonger) {
  const auto mix = GrainMix::Make(std::vector<double>{1, 3}).ValueOrDie();
  const uint64_t far = uint64_t{1} << 62;
  EXPECT_EQ(mix.At(far).row + mix.At(far + 1).row + mix.At(far + 2).row + mix.At(far + 3).row,
            far / 4 + 3 * (far / 4 * 3) + 0 + 1 + 2);
}

TEST(GrainMixTest, RefusesWeightsThatGrainFailsOn) {
  for (const std::vector<double>& weights : {std::vector<double>{},
                                             {0, 1},
                                             {1, -1},
                                             {1, std::numeric_limits<double>::quiet_NaN()},
                                             {1, std::numeric_limits<double>::infinity()},
                                             {1e-300, 1}}) {
    EXPECT_TRUE(GrainMix::Make(weights).status().IsInvalid());
  }
}

}  // namespace
}  // namespace easydata::mix
