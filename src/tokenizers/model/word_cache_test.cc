#include "tokenizers/model/word_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "easydata/base/hash.h"

namespace easydata::tokenizers {
namespace {

using Ids = std::vector<int32_t>;

// Of 1 to 15 bytes, half of them ASCII; few enough to come again.
std::string RandomWord(std::mt19937* random, int num_letters) {
  std::string word(1 + (*random)() % kMaxWordKeyBytes, ' ');
  const bool ascii = (*random)() % 2 == 0;
  for (char& c : word) {
    const auto letter = static_cast<char>('a' + (*random)() % num_letters);
    c = ascii ? letter : static_cast<char>(letter | 0x80);
  }
  return word;
}

Ids RandomIds(std::mt19937* random, size_t max_count) {
  Ids ids((*random)() % (max_count + 1));
  for (int32_t& id : ids) id = static_cast<int32_t>((*random)() & WordTable::kPackedMask);
  return ids;
}

Ids Unpacked(const uint64_t* packed) {
  int32_t ids[6];
  return {ids, ids + WordTable::Unpack(packed, ids)};
}

// A hash by which few words have a line of their own.
uint64_t Crowded(const WordKey& key) { return HashWordKey(key) & 0x3000'0000; }

TEST(WordKeyTest, TellsAllShortWordsApart) {
  std::map<std::pair<uint64_t, uint64_t>, std::string> seen;
  const auto check = [&](const std::string& word) {
    const WordKey key = MakeWordKey(word);
    const auto [at, is_new] = seen.emplace(std::pair(key.low, key.high), word);
    EXPECT_TRUE(is_new || at->second == word) << word << " and " << at->second;
    EXPECT_NE(key.low | key.high, 0u);
  };
  for (int a = 0; a < 256; ++a) {
    check(std::string(1, static_cast<char>(a)));
    for (int b = 0; b < 256; ++b) check({static_cast<char>(a), static_cast<char>(b)});
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) check(RandomWord(&random, 2));
  for (size_t size = 1; size <= kMaxWordKeyBytes; ++size) check(std::string(size, '\0'));
  // The two halves of its key are equal, and yet it is not narrow.
  const std::string halves = std::string("abcdefg\x0F") + "abcdefg";
  EXPECT_EQ(MakeWordKey(halves).low, MakeWordKey(halves).high);
  EXPECT_FALSE(MakeWordKey(halves).is_narrow());
  check(halves);
}

TEST(WordKeyTest, ShortAsciiIsNarrow) {
  EXPECT_TRUE(MakeWordKey("a").is_narrow());
  EXPECT_TRUE(MakeWordKey(" letter").is_narrow());
  EXPECT_FALSE(MakeWordKey(" letters").is_narrow());
  EXPECT_FALSE(MakeWordKey("\xC3\xA9").is_narrow());
}

class WordTableTest : public testing::TestWithParam<std::pair<size_t, WordTable::HashFunction>> {};

// Whatever was evicted and wherever entries have moved: what is found is what was put in.
TEST_P(WordTableTest, FindsWhatWasPutInOrNothing) {
  const auto [bytes, hash] = GetParam();
  WordTable table(bytes, hash);
  std::map<std::string, Ids> inserted;
  std::mt19937 random(7);
  int found_again = 0;
  for (int i = 0; i < 60000; ++i) {
    const std::string word = RandomWord(&random, 6);
    const WordKey key = MakeWordKey(word);
    if (const uint64_t* packed = table.Find(hash(key), key); packed != nullptr) {
      ASSERT_EQ(Unpacked(packed), inserted.at(word)) << word;
      ++found_again;
      continue;
    }
    const Ids ids = RandomIds(&random, key.is_narrow() ? 3 : 6);
    ASSERT_TRUE(WordTable::Takes(key, ids.data(), ids.size()));
    table.Insert(hash(key), key, ids.data(), ids.size());
    inserted[word] = ids;
    const uint64_t* packed = table.Find(hash(key), key);
    ASSERT_NE(packed, nullptr) << word;
    ASSERT_EQ(Unpacked(packed), ids);
  }
  EXPECT_GT(found_again, 100);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, WordTableTest,
    testing::Values(std::pair<size_t, WordTable::HashFunction>(size_t{8} << 20, HashWordKey),
                    std::pair<size_t, WordTable::HashFunction>(size_t{1} << 16, HashWordKey),
                    std::pair<size_t, WordTable::HashFunction>(0, HashWordKey),
                    std::pair<size_t, WordTable::HashFunction>(size_t{1} << 20, Crowded)));

TEST(WordTableTest, LosesLittleWhileThereIsRoom) {
  WordTable table(size_t{8} << 20, HashWordKey);
  std::vector<std::string> words;
  for (int i = 0; i < 40000; ++i) words.push_back(std::to_string(i));
  for (int i = 0; i < 40000; ++i) words.push_back("number " + std::to_string(i));
  const uint32_t num_moves = table.num_moves();
  for (int32_t i = 0; i < 80000; ++i) {
    const WordKey key = MakeWordKey(words[i]);
    table.Insert(HashWordKey(key), key, &i, 1);
  }
  EXPECT_GT(table.num_moves(), num_moves);
  int lost = 0;
  for (int32_t i = 0; i < 80000; ++i) {
    const WordKey key = MakeWordKey(words[i]);
    const uint64_t* packed = table.Find(HashWordKey(key), key);
    if (packed == nullptr) {
      ++lost;
    } else {
      ASSERT_EQ(Unpacked(packed), Ids{i});
    }
  }
  EXPECT_LT(lost, 80000 / 20);
}

TEST(WordTableTest, TakesWhatFits) {
  const WordKey narrow = MakeWordKey("word"), wide = MakeWordKey("the words");
  const int32_t ids[7] = {0, 1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(WordTable::Takes(narrow, ids, 3));
  EXPECT_FALSE(WordTable::Takes(narrow, ids, 4));
  EXPECT_TRUE(WordTable::Takes(wide, ids, 6));
  EXPECT_FALSE(WordTable::Takes(wide, ids, 7));
  const int32_t largest = (1 << 20) - 1, too_large = 1 << 20;
  EXPECT_TRUE(WordTable::Takes(narrow, &largest, 1));
  EXPECT_FALSE(WordTable::Takes(narrow, &too_large, 1));
}

// Long words, and what happens to them when there is no more room.
TEST(WordCacheTest, FindsLongWordsOrNothing) {
  for (const int64_t bytes : {int64_t{0}, int64_t{1} << 12, int64_t{1} << 16, int64_t{16} << 20}) {
    WordCache cache(bytes, HashWordKey);
    std::map<std::string, Ids> inserted;
    std::mt19937 random(3);
    int32_t out[600];
    int found_again = 0;
    for (int i = 0; i < 20000; ++i) {
      // Empty ones, and longer ones than are remembered, as well.
      const std::string word(random() % 520, static_cast<char>('a' + random() % 4));
      const uint64_t hash = Hash64(word);
      const size_t count = cache.FindLong(word, hash, out);
      if (count != WordCache::kNotFound) {
        ASSERT_EQ(Ids(out, out + count), inserted.at(word));
        ++found_again;
        continue;
      }
      const Ids ids = RandomIds(&random, word.size());
      cache.InsertLong(word, hash, ids.data(), ids.size());
      inserted[word] = ids;
    }
    EXPECT_TRUE(bytes < 1 << 24 || found_again > 1000) << bytes;
  }
}

}  // namespace
}  // namespace easydata::tokenizers
