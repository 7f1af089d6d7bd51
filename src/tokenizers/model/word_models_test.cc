// WordPiece, WordLevel and Unigram. Expected ids come from the reference library.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tokenizers/model/model_test_files.h"

namespace easydata::tokenizers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Status EncodeStatus(const Model& model, std::string_view word) {
  IdBuffer ids;
  return model.EncodeWord(word, model.MakeScratch().get(), &ids);
}

constexpr char kWordPiece[] = R"({"type": "WordPiece", "unk_token": "[UNK]",
    "continuing_subword_prefix": "##", "max_input_chars_per_word": 6,
    "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "##a": 4, "a": 5, "##\u00e9": 6,
              "##": 7, "#": 8}})";

TEST(WordPieceModelTest, TakesTheLongestPieceEachTime) {
  const auto model = MakeTestModel(kWordPiece);
  EXPECT_THAT(EncodeWord(*model, "unaff"), ElementsAre(1, 2));
  EXPECT_THAT(EncodeWord(*model, "una"), ElementsAre(1, 4));
  EXPECT_THAT(EncodeWord(*model, "##"), ElementsAre(7));
  EXPECT_THAT(EncodeWord(*model, "##a"), ElementsAre(4));
  EXPECT_THAT(EncodeWord(*model, "a\u00e9\u00e9"), ElementsAre(5, 6, 6));
}

TEST(WordPieceModelTest, AWordThatDoesNotComeOutIsUnknownAsAWhole) {
  const auto model = MakeTestModel(kWordPiece);
  EXPECT_THAT(EncodeWord(*model, "unx"), ElementsAre(0));
  EXPECT_THAT(EncodeWord(*model, "x"), ElementsAre(0));
  EXPECT_THAT(EncodeWord(*model, "un#"), ElementsAre(0));
}

TEST(WordPieceModelTest, CountsCharactersNotBytes) {
  const auto model = MakeTestModel(kWordPiece);
  EXPECT_THAT(EncodeWord(*model, "a\u00e9\u00e9\u00e9\u00e9\u00e9"), ElementsAre(5, 6, 6, 6, 6, 6));
  EXPECT_THAT(EncodeWord(*model, "a\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"), ElementsAre(0));
}

TEST(WordPieceModelTest, AMissingUnkTokenIsAnErrorOnlyWhereItIsNeeded) {
  const auto model = MakeTestModel(R"({"type": "WordPiece", "unk_token": "[UNK]",
      "continuing_subword_prefix": "", "max_input_chars_per_word": 100, "vocab": {"a": 0}})");
  EXPECT_THAT(EncodeWord(*model, "aaa"), ElementsAre(0, 0, 0));
  const Status status = EncodeStatus(*model, "ab");
  EXPECT_TRUE(status.IsInvalid());
  EXPECT_THAT(status.message(), HasSubstr("[UNK]"));
}

TEST(WordLevelModelTest, LooksWordsUp) {
  const auto model = MakeTestModel(
      R"({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a b": 9, "": 3}})");
  EXPECT_THAT(EncodeWord(*model, "a b"), ElementsAre(9));
  EXPECT_THAT(EncodeWord(*model, "a"), ElementsAre(0));
  EXPECT_EQ(model->TokenToId(""), 3);
  const auto without = MakeTestModel(R"({"unk_token": "?", "vocab": {"a": 0}})");
  EXPECT_THAT(EncodeWord(*without, "a"), ElementsAre(0));
  EXPECT_TRUE(EncodeStatus(*without, "b").IsInvalid());
}

TEST(UnigramModelTest, FindsTheBestPath) {
  const auto model = MakeTestModel(R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0],
      ["a", 0], ["b", 0], ["c", 0], ["d", 0], ["cd", 1], ["ab", 2], ["abc", 5], ["abcd", 10]]})");
  EXPECT_THAT(EncodeWord(*model, "abcd"), ElementsAre(8));
  EXPECT_THAT(EncodeWord(*model, "abcdacd"), ElementsAre(8, 1, 5));
}

TEST(UnigramModelTest, OfEqualPathsTheFirstWins) {
  const auto model = MakeTestModel(R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", -9],
      ["a", -1], ["b", -1], ["c", -1], ["ab", -1], ["bc", -1]]})");
  EXPECT_THAT(EncodeWord(*model, "abc"), ElementsAre(1, 5));
}

TEST(UnigramModelTest, NeighboursThatAreUnknownAreOneAndLookedUpAgain) {
  const auto model = MakeTestModel(R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0],
      ["a", -1], ["xy", -100]]})");
  EXPECT_THAT(EncodeWord(*model, "axxya"), ElementsAre(1, 0, 2, 1));
  EXPECT_THAT(EncodeWord(*model, "a\u00e9\u00e9a"), ElementsAre(1, 0, 1));
  const auto known = MakeTestModel(R"({"unk_id": 0, "vocab": [["a", 0], ["aa", -50]]})");
  EXPECT_THAT(EncodeWord(*known, "aa"), ElementsAre(1));
  EXPECT_THAT(EncodeWord(*known, "aaa"), ElementsAre(0));
}

TEST(UnigramModelTest, FallsBackToBytesWhenAllAreThere) {
  const auto model = MakeTestModel(R"({"type": "Unigram", "unk_id": 0, "byte_fallback": true,
      "vocab": [["<unk>", 0], ["a", -1], ["<0xC3>", -5], ["<0xA9>", -5], ["<0x78>", -5]]})");
  EXPECT_THAT(EncodeWord(*model, "a\u00e9xa"), ElementsAre(1, 2, 3, 4, 1));
  EXPECT_THAT(EncodeWord(*model, "\u00e9y"), ElementsAre(0));
}

TEST(UnigramModelTest, OfAPieceGivenTwiceTheLastCounts) {
  const auto model = MakeTestModel(R"({"vocab": [["ab", 5], ["a", -1], ["b", -1], ["ab", -3]]})");
  EXPECT_THAT(EncodeWord(*model, "ab"), ElementsAre(1, 2));
  EXPECT_EQ(model->TokenToId("ab"), 3);
  EXPECT_EQ(model->IdToToken(0), "ab");
  EXPECT_EQ(model->size(), 4);
}

TEST(UnigramModelTest, AMissingUnkIdIsAnErrorOnlyWhereItIsNeeded) {
  const auto model = MakeTestModel(R"({"type": "Unigram", "unk_id": null, "vocab": [["a", -1],
      ["xa", 5]]})");
  EXPECT_THAT(EncodeWord(*model, "aa"), ElementsAre(0, 0));
  EXPECT_TRUE(EncodeStatus(*model, "xa").IsInvalid());
}

TEST(UnigramModelTest, TakesAMegabyteInOneWord) {
  const auto model =
      MakeTestModel(R"({"unk_id": 0, "vocab": [["<unk>", 0], ["a", -1], ["aaaaaaaa", -2]]})");
  EXPECT_EQ(EncodeWord(*model, std::string(1 << 20, 'a')), std::vector<int32_t>(1 << 17, 2));
}

TEST(MakeModelTest, LeavesMalformedFilesToTheReference) {
  for (const char* json : {
           R"({"type": "WordLevel", "vocab": {"a": 0}})",
           R"({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": null})",
           R"({"type": "WordLevel", "vocab": [], "unk_token": "a"})",
           R"({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "a"})",
           R"({"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "a",
               "continuing_subword_prefix": "", "max_input_chars_per_word": -1})",
           R"({"type": "Unigram", "vocab": {"a": 0}})",
           R"({"type": "Unigram", "vocab": [["a", 1]], "unk_id": 1})",
           R"({"type": "Unigram", "vocab": [], "unk_id": 0})",
           R"({"type": "Unigram", "vocab": [["a", 1]], "unk_id": -1})",
           R"({"type": "Unigram", "vocab": [["a", 1, 2]]})",
           R"({"type": "Unigram", "vocab": [["a", null]]})",
           R"({"type": "Unigram", "vocab": [["a", 1]], "byte_fallback": null})",
           R"({"type": "Zzz", "vocab": {"a": 0}})",
           R"({})",
       }) {
    EXPECT_TRUE(ModelFromJson(json).status().IsNotImplemented()) << json;
  }
}

TEST(MakeModelTest, OnlyBpeTakesRawBytes) {
  EXPECT_TRUE(ModelFromJson(kWordPiece, true).status().IsNotImplemented());
}

TEST(MakeModelTest, GuessesAMissingType) {
  EXPECT_THAT(EncodeWord(*MakeTestModel(R"({"vocab": {"a": 0, "b": 4}, "unk_token": "a",
      "continuing_subword_prefix": "", "max_input_chars_per_word": 9})"),
                         "bb"),
              ElementsAre(4, 4));
  EXPECT_THAT(EncodeWord(*MakeTestModel(R"({"vocab": {"a": 0, "b": 4}, "unk_token": "a"})"), "bb"),
              ElementsAre(0));
  EXPECT_THAT(EncodeWord(*MakeTestModel(R"({"vocab": [["a", 0], ["b", 4]]})"), "bb"),
              ElementsAre(1, 1));
  EXPECT_THAT(EncodeWord(*MakeTestModel(R"({"vocab": {"a": 0, "b": 4, "bb": 5},
      "merges": ["b b"]})"),
                         "bb"),
              ElementsAre(5));
}

}  // namespace
}  // namespace easydata::tokenizers
