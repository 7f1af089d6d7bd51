#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/chosen_cases.h"
#include "tokenizers/model/byte_bpe_model.h"
#include "tokenizers/model/char_bpe_model.h"
#include "tokenizers/model/model_test_files.h"
#include "tokenizers/tokenizer_test_files.h"

namespace easydata::tokenizers {
namespace {

using testing::ElementsAre;

const std::vector<std::string> kLetters = {"a", "b", "c", "\u00e9", "\u4e2d", "\U0001F600"};

BpeFile RandomBpeFile(std::mt19937* random) {
  BpeFile file;
  for (const std::string& letter : kLetters) {
    if ((*random)() % 4 != 0) file.tokens.push_back(letter);
  }
  if (file.tokens.empty()) file.tokens.push_back("a");
  const auto pick = [&] { return file.tokens[(*random)() % file.tokens.size()]; };
  for (int i = 0; i < 30; ++i) {
    file.merges.emplace_back(pick(), pick());
    if (file.merges.back().first.size() + file.merges.back().second.size() > 24) {
      file.merges.pop_back();
    }
    file.AddMergeResults();
  }
  std::shuffle(file.merges.begin(), file.merges.end(), *random);
  if ((*random)() % 2 == 0) {
    file.unk_token = "?";
    file.tokens.push_back("?");
    if ((*random)() % 2 == 0) file.merges.emplace_back("?", file.tokens.front());
    if ((*random)() % 2 == 0) file.merges.emplace_back("?", "?");
    file.AddMergeResults();
  }
  file.fuse_unk = (*random)() % 2 == 0;
  file.byte_fallback = (*random)() % 2 == 0;
  file.ignore_merges = (*random)() % 3 == 0;
  if ((*random)() % 2 == 0) {
    file.AddByteTokens();
    if ((*random)() % 2 == 0) std::erase(file.tokens, "<0xA9>");
  }
  return file;
}

std::string RandomBpeWord(std::mt19937* random, size_t letters) {
  std::string word;
  for (size_t i = 0; i < letters; ++i) word += kLetters[(*random)() % kLetters.size()];
  return word;
}

TEST(CharBpeModelTest, EqualsReference) {
  std::mt19937 random(11);
  for (int round = 0; round < 150; ++round) {
    const BpeFile file = RandomBpeFile(&random);
    const auto model = MakeTestModel(file.ToJson());
    for (int i = 0; i < 40; ++i) {
      const std::string word = RandomBpeWord(&random, 1 + random() % (i % 8 == 0 ? 150 : 12));
      ASSERT_EQ(EncodeWord(*model, word), file.Encode(word)) << file.ToJson() << "\n" << word;
    }
  }
}

TEST(CharBpeModelTest, EqualsReferenceWithAffixes) {
  std::mt19937 random(12);
  for (int round = 0; round < 150; ++round) {
    BpeFile file;
    file.prefix = round % 3 == 0 ? "" : "#";
    file.suffix = round % 3 == 1 ? "" : "_";
    for (const std::string& letter : kLetters) {
      for (const std::string& before : {std::string(), file.prefix}) {
        for (const std::string& behind : {std::string(), file.suffix}) {
          if (random() % 5 != 0) file.tokens.push_back(before + letter + behind);
        }
      }
    }
    std::sort(file.tokens.begin(), file.tokens.end());
    file.tokens.erase(std::unique(file.tokens.begin(), file.tokens.end()), file.tokens.end());
    for (int i = 0; i < 40; ++i) {
      const std::string left = file.tokens[random() % file.tokens.size()];
      const std::string right = file.tokens[random() % file.tokens.size()];
      if (!right.starts_with(file.prefix) || left.size() + right.size() > 24) continue;
      file.merges.emplace_back(left, right);
      file.AddMergeResults();
    }
    file.byte_fallback = round % 2 == 0;
    if (file.byte_fallback) file.AddByteTokens();
    const auto model = MakeTestModel(file.ToJson());
    for (int i = 0; i < 40; ++i) {
      const std::string word = RandomBpeWord(&random, 1 + random() % 12);
      const std::vector<int32_t> ids = EncodeWord(*model, word);
      ASSERT_EQ(ids, file.Encode(word)) << file.ToJson() << "\n" << word;
      ASSERT_LE(ids.size(), word.size() * model->max_ids_per_byte());
    }
  }
}

TEST(ByteBpeModelTest, EqualsTheCharacterModelOfTheMappedWord) {
  std::mt19937 random(static_cast<unsigned>(13 + ChosenCases().first));
  int taken = 0, rounds = 0;
  for (const int64_t round : ChosenCases(0, 120)) {
    ++rounds;
    BpeFile file;
    for (int byte = 0; byte < 256; ++byte) {
      const char text = static_cast<char>(byte);
      if (round % 2 == 0 || random() % 3 != 0) file.tokens.push_back(Mapped({&text, 1}));
    }
    const std::vector<std::string> bytes = file.tokens;
    std::vector<std::string> words;
    const auto pick = [&]() -> std::string {
      const size_t from = random() % 2 == 0 ? file.tokens.size() : bytes.size();
      return file.tokens[random() % from];
    };
    for (int i = 0; i < 400; ++i) {
      const std::string left = pick(), right = pick();
      if (left.size() + right.size() > 16) continue;
      file.merges.emplace_back(left, right);
      file.AddMergeResults();
    }
    file.ignore_merges = round % 5 == 0;
    file.byte_fallback = round % 7 == 0;
    for (const std::string_view extra : {"abcabc", "hhhh", "\x80\x81\x82\x83"}) {
      const std::string token = Mapped(extra);  // perhaps no merges lead there
      if (std::find(file.tokens.begin(), file.tokens.end(), token) == file.tokens.end()) {
        file.tokens.push_back(token);
      }
      words.emplace_back(extra);
    }
    if (round % 3 == 0) file.unk_token = file.tokens[0];
    if (round % 11 == 0) file.AddByteTokens();
    const auto model = MakeTestModel(file.ToJson(), true);
    for (const std::string& word : words) {
      ASSERT_EQ(EncodeWord(*model, word), file.Encode(Mapped(word))) << file.ToJson();
    }
    taken += dynamic_cast<const ByteBpeModel*>(model.get()) != nullptr ? 1 : 0;
    for (int i = 0; i < 40; ++i) {
      std::string word;
      for (size_t size = 1 + random() % (i % 8 == 0 ? 200 : 20); word.size() < size;) {
        word.push_back(static_cast<char>(random() % 8 + (i % 2 == 0 ? 'a' : 0x80)));
      }
      ASSERT_EQ(EncodeWord(*model, word), file.Encode(Mapped(word))) << file.ToJson();
    }
  }
  EXPECT_GT(taken, rounds / 2);
  EXPECT_LT(taken, rounds);
}

TEST(BpeModelTest, PrefixesStandBeforeAllCharactersButTheFirst) {
  const auto model = MakeTestModel(R"({"type": "BPE", "continuing_subword_prefix": "#",
      "vocab": {"a": 0, "b": 1, "#b": 3, "ab": 4, "#c": 6, "abc": 7},
      "merges": [["a", "#b"], ["ab", "#c"]]})");
  EXPECT_THAT(EncodeWord(*model, "abc"), ElementsAre(7));
  EXPECT_THAT(EncodeWord(*model, "bc"), ElementsAre(1, 6));
}

// The queue holds a+b for 4 at rank 1 when b+c is merged; a+bc is also 4, so that entry still
// counts, before bc+d at rank 2.
TEST(BpeModelTest, AnOutdatedQueueEntryCountsWhereTheResultIsTheSame) {
  const auto model = MakeTestModel(R"({"type": "BPE",
      "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "ab": 4, "bc": 5, "bcd": 6, "abc": 4},
      "merges": [["b", "c"], ["a", "b"], ["bc", "d"], ["a", "bc"]]})");
  EXPECT_THAT(EncodeWord(*model, "abcd"), ElementsAre(4, 3));
}

TEST(BpeModelTest, AnUnknownCharacterWithoutUnkTokenLetsNeighboursMeet) {
  const auto model =
      MakeTestModel(R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})");
  EXPECT_THAT(EncodeWord(*model, "a\u00e9b"), ElementsAre(2));
  EXPECT_THAT(EncodeWord(*model, "\u00e9"), ElementsAre());
}

TEST(BpeModelTest, AMissingUnkTokenIsAnErrorOnlyWhereItIsNeeded) {
  const auto model =
      MakeTestModel(R"({"type": "BPE", "unk_token": "?", "vocab": {"a": 0}, "merges": []})");
  EXPECT_THAT(EncodeWord(*model, "aa"), ElementsAre(0, 0));
  IdBuffer ids;
  const Status status = model->EncodeWord("ab", model->MakeScratch().get(), &ids);
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_THAT(status.message(), testing::HasSubstr("unk_token"));
}

TEST(BpeModelTest, OfAPairListedTwiceTheLastRankCounts) {
  const auto model = MakeTestModel(
      R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4},
          "merges": ["a b", "b c", "a b"]})");
  EXPECT_THAT(EncodeWord(*model, "abc"), ElementsAre(0, 4));
}

TEST(BpeModelTest, TakesIdsWithHolesAndTokensGivenTwice) {
  const auto model = MakeTestModel(
      R"({"type": "BPE", "vocab": {"a": 1, "b": 70000, "a": 5, "x": 5}, "merges": []})");
  EXPECT_THAT(EncodeWord(*model, "abx"), ElementsAre(5, 70000, 5));
  EXPECT_EQ(model->size(), 3);
  EXPECT_EQ(model->id_limit(), 70001);
  EXPECT_EQ(model->TokenToId("a"), 5);
  EXPECT_EQ(model->TokenToId("c"), -1);
  EXPECT_EQ(model->IdToToken(70000), "b");
  EXPECT_EQ(model->IdToToken(1), std::nullopt);
  EXPECT_EQ(model->IdToToken(-1), std::nullopt);
  EXPECT_EQ(model->IdToToken(70001), std::nullopt);
}

TEST(BpeModelTest, LeavesMalformedFilesToTheReference) {
  for (const char* json : {
           R"({"type": "BPE", "vocab": {"a": 0}})",
           R"({"type": "BPE", "merges": []})",
           R"({"type": "BPE", "vocab": {"a": 0}, "merges": null})",
           R"({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]})",
           R"({"type": "BPE", "vocab": {"a": 0, "ab": 1}, "merges": ["a b"]})",
           R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": ["a  a"]})",
           R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": ["a"]})",
           R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": ["a a", ["a", "a"]]})",
           R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [["a", "a"], "a a"]})",
           R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [["a", "a", "a"]]})",
           R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [["a"]]})",
           R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})",
           R"({"type": "BPE", "vocab": {"a": 1.0}, "merges": []})",
           R"({"type": "BPE", "vocab": {"a": 4294967296}, "merges": []})",
           R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1})",
           R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "fuse_unk": 1})",
           R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": 1})",
           R"({"type": "BPE", "vocab": {"aa": 0, "a": 1}, "merges": ["aa a"],
               "continuing_subword_prefix": "##"})",
           R"({"type": "bpe", "vocab": {"a": 0}, "merges": []})",
           R"({"type": null, "vocab": {"a": 0}, "merges": []})",
           R"({"type": "BPE", "type": "BPE", "vocab": {"a": 0}, "merges": []})",
           R"([])",
       }) {
    EXPECT_TRUE(ModelFromJson(json).status().IsNotImplemented()) << json;
  }
}

TEST(BpeModelTest, TakesEveryWellFormedOption) {
  for (const char* json : {
           R"({"vocab": {"a": 0, "aa": 1}, "merges": ["#version: 0.2", "a a"]})",
           R"({"vocab": {"a": 0, "aa": 1}, "merges": [["a", "a"]], "dropout": 0, "unknown": []})",
           R"({"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [["a", "a"]], "dropout": 0.0,
               "unk_token": null, "continuing_subword_prefix": null, "end_of_word_suffix": null,
               "fuse_unk": null, "byte_fallback": null, "ignore_merges": null})",
       }) {
    EXPECT_THAT(EncodeWord(*MakeTestModel(json), "aaa"), ElementsAre(1, 0)) << json;
  }
}

}  // namespace
}  // namespace easydata::tokenizers
