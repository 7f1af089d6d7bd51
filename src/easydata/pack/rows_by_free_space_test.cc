#include "easydata/pack/rows_by_free_space.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

namespace easydata::pack {
namespace {

TEST(RowsByFreeSpaceTest, GivesTheFullestRowThatTakesIt) {
  for (int32_t most : {1, 63, 64, 65, 4096, 300000}) {
    std::mt19937 random(most);
    RowsByFreeSpace rows(most);
    std::set<std::pair<int32_t, int32_t>> plain;  // room, row
    for (int round = 0; round < 3; ++round) {
      std::vector<int32_t> out(200);  // rows that are not in
      for (int32_t i = 0; i < 200; ++i) out[i] = i;
      for (int step = 0; step < 3000; ++step) {
        if (!out.empty() && random() % 2 == 0) {
          std::swap(out[random() % out.size()], out.back());
          const auto room = static_cast<int32_t>(random() % std::min(most, 40)) + 1 +
                            (most > 40 && random() % 2 == 0 ? most - 40 : 0);
          rows.Add(out.back(), room);
          plain.emplace(room, out.back());
          out.pop_back();
          continue;
        }
        const auto needed = static_cast<int32_t>(random() % most) + 1;
        const RowsByFreeSpace::Row taken = rows.Take(needed);
        const auto expected = plain.lower_bound({needed, 0});
        if (expected == plain.end()) {
          ASSERT_EQ(taken.row, -1);
          continue;
        }
        ASSERT_EQ(taken.room, expected->first);
        ASSERT_EQ(taken.row, expected->second);
        out.push_back(taken.row);
        plain.erase(expected);
      }
      rows.Clear();
      plain.clear();
      EXPECT_EQ(rows.Take(1).row, -1);
    }
  }
}

}  // namespace
}  // namespace easydata::pack
