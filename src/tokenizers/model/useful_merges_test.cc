#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tokenizers/model/merge_list.h"

namespace easydata::tokenizers {
namespace {

// Merges of random tokens of three letters, each made in every way there is, as in lists that were
// made from ranked tokens.
struct RandomMerges {
  RandomMerges(std::mt19937* random, bool by_result) {
    for (const char letter : {'a', 'b', 'c'}) Add(std::string(1, letter));
    for (int i = 0; i < 40; ++i) {
      std::string token;
      for (size_t size = 2 + (*random)() % 9; size > 0; --size) token += "abc"[(*random)() % 3];
      Add(token);
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
      for (size_t cut = 1; cut < tokens[i].size(); ++cut) {
        const auto left = ids.find(tokens[i].substr(0, cut)),
                   right = ids.find(tokens[i].substr(cut));
        if (left == ids.end() || right == ids.end()) continue;
        merges.push_back({left->second, right->second, static_cast<int32_t>(i)});
      }
    }
    if (!by_result) std::shuffle(merges.begin(), merges.end(), *random);
    if ((*random)() % 2 == 0 && !merges.empty()) {
      merges.push_back(merges[(*random)() % merges.size()]);  // its last rank counts
    }
  }

  void Add(const std::string& token) {
    if (!ids.emplace(token, static_cast<int32_t>(tokens.size())).second) return;
    tokens.push_back(token);
    lengths.push_back(static_cast<uint32_t>(token.size()));
  }

  std::vector<std::string> tokens;
  std::vector<uint32_t> lengths;
  std::map<std::string, int32_t> ids;
  std::vector<Merge> merges;
};

size_t CountPairs(const MergeList& list) {
  size_t count = 0;
  list.ForEachPair([&](int32_t, int32_t) { ++count; });
  return count;
}

TEST(MakeUsefulTest, MergesAsTheWholeListDoes) {
  std::mt19937 random(31);
  size_t num_all = 0, num_useful = 0;
  for (int round = 0; round < 300; ++round) {
    const RandomMerges file(&random, round % 2 == 0);
    const auto num_ids = static_cast<int64_t>(file.tokens.size());
    const MergeList all = MergeList::Make(file.merges, num_ids).ValueOrDie();
    const MergeList useful = MergeList::MakeUseful(file.merges, file.lengths).ValueOrDie();
    num_all += CountPairs(all);
    num_useful += CountPairs(useful);
    MergeScratch scratch;
    for (int i = 0; i < 50; ++i) {
      std::vector<int32_t> symbols(1 + random() % 40);
      for (int32_t& symbol : symbols) symbol = static_cast<int32_t>(random() % 3);
      std::vector<int32_t> expected = symbols, any = symbols;
      expected.resize(all.MergeAny(expected.data(), expected.size(), &scratch));
      symbols.resize(useful.MergeFew(symbols.data(), symbols.size()));
      any.resize(useful.MergeAny(any.data(), any.size(), &scratch));
      ASSERT_EQ(symbols, expected);
      ASSERT_EQ(any, expected);
    }
  }
  EXPECT_LT(num_useful * 4, num_all * 3);
}

TEST(MakeUsefulTest, KeepsOneMergeForAToken) {
  // abc is made of ab and c whatever its other merge says: that one comes first, but there is never
  // a "bc" beside an "a".
  const std::vector<Merge> merges = {{0, 1, 3}, {0, 4, 5}, {1, 2, 4}, {3, 2, 5}};
  const MergeList list = MergeList::MakeUseful(merges, {1, 1, 1, 2, 2, 3}).ValueOrDie();
  EXPECT_EQ(CountPairs(list), 3u);
  EXPECT_EQ(list.tables().FindRank(0, 4), MergeTables::kNoRank);
  std::vector<int32_t> symbols = {0, 1, 2};
  ASSERT_EQ(list.MergeFew(symbols.data(), 3), 1u);
  EXPECT_EQ(symbols[0], 5);
}

}  // namespace
}  // namespace easydata::tokenizers
