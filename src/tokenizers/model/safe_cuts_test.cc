#include "tokenizers/model/safe_cuts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tokenizers/byte_alphabet.h"
#include "tokenizers/model/byte_bpe_model.h"
#include "tokenizers/model/model_test_files.h"
#include "tokenizers/model/part_encoder.h"
#include "tokenizers/tokenizer_test_files.h"

namespace easydata::tokenizers {
namespace {

using Ids = std::vector<int32_t>;

const std::vector<std::string> kCutLetters = {"a",      "b",      "\u00e9",    "\u00eb",
                                              "\u4e2d", "\u4e2e", "\U0001F600"};

// Few kinds of letters, so that what merges together comes again.
std::string RandomCutWord(std::mt19937* random, size_t letters, size_t kinds) {
  const size_t first = (*random)() % (kCutLetters.size() - kinds + 1);
  std::string word;
  for (size_t i = 0; i < letters; ++i) word += kCutLetters[first + (*random)() % kinds];
  return word;
}

// Merges as a trainer makes them: each of neighbours that are left in the words, and done in all of
// them before the next.
BpeFile RandomCutFile(std::mt19937* random, int merges, bool ignore_merges) {
  BpeFile file;
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    file.tokens.push_back(Mapped({&text, 1}));
  }
  std::vector<std::vector<std::string>> words(12);
  for (std::vector<std::string>& word : words) {
    for (const char byte : RandomCutWord(random, 12, 2)) word.push_back(Mapped({&byte, 1}));
  }
  for (int i = 0; i < merges; ++i) {
    const std::vector<std::string>& chosen = words[(*random)() % words.size()];
    if (chosen.size() < 2) continue;
    const size_t index = (*random)() % (chosen.size() - 1);
    const std::string left = chosen[index], right = chosen[index + 1];
    file.merges.emplace_back(left, right);
    for (std::vector<std::string>& word : words) {
      for (size_t at = 0; at + 1 < word.size(); ++at) {
        if (word[at] != left || word[at + 1] != right) continue;
        word[at] += right;
        word.erase(word.begin() + static_cast<ptrdiff_t>(at) + 1);
      }
    }
  }
  file.AddMergeResults();
  for (const char* extra : {"aaaa", "abab", "bbbb"}) {
    if (std::find(file.tokens.begin(), file.tokens.end(), extra) == file.tokens.end()) {
      file.tokens.emplace_back(extra);  // perhaps no merges lead there
    }
  }
  file.ignore_merges = ignore_merges;
  return file;
}

class SafeCutsTest : public testing::TestWithParam<bool> {
 protected:
  void Make(const BpeFile& file) {
    model_ = MakeTestModel(file.ToJson(), true);
    bpe_ = &dynamic_cast<const ByteBpeModel&>(*model_).bpe();
    cuts_ = SafeCuts::Make(*bpe_);
    ASSERT_NE(cuts_, nullptr);
  }

  Ids EncodePart(std::string_view part) const {
    Ids ids(part.size());
    MergeScratch scratch;
    ids.resize(bpe_->EncodePart(part, &scratch, ids.data()));
    return ids;
  }

  std::unique_ptr<const Model> model_;
  const BpeModel* bpe_ = nullptr;
  std::unique_ptr<const SafeCuts> cuts_;
};

// Adversarial: many merges over few letters, cut at every boundary that is called safe.
TEST_P(SafeCutsTest, PartsMergeAsTheWhole) {
  std::mt19937 random(21);
  size_t safe = 0, boundaries = 0;
  for (int round = 0; round < 40; ++round) {
    Make(RandomCutFile(&random, 3 + round * 2, GetParam()));
    for (int i = 0; i < 60; ++i) {
      const std::string word = RandomCutWord(&random, 2 + random() % 20, 2 + random() % 2);
      const Ids whole = EncodePart(word);
      for (size_t at = 1; at < word.size(); ++at) {
        ++boundaries;
        if (!cuts_->IsSafe(word.data(), word.size(), at)) continue;
        ++safe;
        Ids parts = EncodePart(std::string_view(word).substr(0, at));
        const Ids right = EncodePart(std::string_view(word).substr(at));
        parts.insert(parts.end(), right.begin(), right.end());
        ASSERT_EQ(parts, whole) << word << " at " << at;
      }
    }
  }
  EXPECT_GT(safe, boundaries / 20);
  EXPECT_LT(safe, boundaries);
}

TEST_P(SafeCutsTest, PartEncoderEqualsTheModel) {
  std::mt19937 random(22);
  for (int round = 0; round < 30; ++round) {
    Make(RandomCutFile(&random, 60, GetParam()));
    PartEncoder encoder(bpe_, cuts_.get(), round % 2 == 0 ? 1 : 1 << 20);
    for (int i = 0; i < 100; ++i) {
      std::string word =
          RandomCutWord(&random, 1 + random() % (i % 10 == 0 ? 600 : 30), 2 + random() % 3);
      if (i % 3 == 0) {
        // With ignore_merges a word that is a token is that token, whatever its parts are.
        const auto id =
            static_cast<int32_t>(random() % static_cast<uint64_t>(bpe_->vocabulary().size()));
        word.clear();
        ASSERT_TRUE(ByteAlphabet::Get().ToBytes(bpe_->vocabulary().TokenOf(id), &word));
      }
      Ids parts(word.size()), whole(word.size());
      MergeScratch scratch;
      parts.resize(encoder.Encode(word, parts.data()));
      whole.resize(bpe_->Encode(word, &scratch, whole.data()));
      ASSERT_EQ(parts, whole) << word;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(IgnoreMerges, SafeCutsTest, testing::Bool());

TEST(SafeCutsMakeTest, ProvesNothingWhereABytesIsMissing) {
  const auto model = MakeTestModel(R"({"vocab": {"a": 0}, "merges": []})", true);
  EXPECT_EQ(SafeCuts::Make(dynamic_cast<const ByteBpeModel&>(*model).bpe()), nullptr);
}

}  // namespace
}  // namespace easydata::tokenizers
