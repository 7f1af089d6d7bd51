#include "tokenizers/model/double_array.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace easydata::tokenizers {
namespace {

using Map = std::map<std::string, int32_t>;

DoubleArray MakeDoubleArray(const Map& map) {
  std::vector<DoubleArray::Entry> entries(map.begin(), map.end());
  return DoubleArray(entries);
}

TEST(DoubleArrayTest, FindsWhatIsInItAndNothingElse) {
  std::mt19937 random(1);
  for (const int letters : {2, 26, 256}) {
    Map map;
    for (int i = 0; i < 5000; ++i) {
      std::string key;
      for (size_t size = 1 + random() % 9; key.size() < size;) {
        key.push_back(static_cast<char>(random() % letters));
      }
      map[key] = i;
    }
    const DoubleArray trie = MakeDoubleArray(map);
    for (const auto& [key, value] : map) ASSERT_EQ(trie.Find(key), value);
    for (int i = 0; i < 20000; ++i) {
      std::string key;
      for (size_t size = random() % 10; key.size() < size;) {
        key.push_back(static_cast<char>(random() % 256));
      }
      const auto it = map.find(key);
      ASSERT_EQ(trie.Find(key), it == map.end() ? -1 : it->second);
    }
  }
}

TEST(DoubleArrayTest, KnowsNothingWhenEmpty) {
  const DoubleArray trie;
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(trie.Child(DoubleArray::kRoot, static_cast<uint8_t>(byte)), DoubleArray::kNone);
  }
  EXPECT_EQ(trie.Find(""), -1);
}

TEST(DoubleArrayTest, LeavesTheEmptyStringOut) {
  const DoubleArray trie = MakeDoubleArray({{"", 7}, {"a", 8}});
  EXPECT_EQ(trie.Find(""), -1);
  EXPECT_EQ(trie.Find("a"), 8);
}

TEST(DoubleArrayTest, TheLastOfEqualStringsCounts) {
  const std::vector<DoubleArray::Entry> entries = {{"a", 1}, {"ab", 5}, {"ab", 2}};
  EXPECT_EQ(DoubleArray(entries).Find("ab"), 2);
}

}  // namespace
}  // namespace easydata::tokenizers
