#include "easydata/trainer/text_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizers/tokenizer.h"

namespace easydata::trainer {
namespace {

// Letters from a to c; there is no token for others.
constexpr const char* kLetters = R"({
  "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "added_tokens": [],
  "pre_tokenizer": {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated",
                    "invert": false},
  "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"a": 0, "b": 1, "c": 2}}})";

TEST(TextPiecesTest, TextsOfABadRowAreLeft) {
  const auto tokenizer = tokenizers::Tokenizer::FromJson(kLetters).ValueOrDie();
  TextPieces pieces;
  const int first = pieces.Add("ab", false, 4);
  const int prompt = pieces.Add("a", false, 5);
  const int bad = pieces.Add("x", true, 5);
  const int last = pieces.Add("cab", false, 6);
  const int end = pieces.Add("c", true, 6);
  int64_t bad_row = -1;
  EXPECT_THAT(pieces.Encode(*tokenizer, &bad_row).ToString(), ::testing::HasSubstr("unk_token"));
  EXPECT_EQ(bad_row, 5);
  pieces.Leave(bad_row);
  ASSERT_TRUE(pieces.Encode(*tokenizer, &bad_row).ok());
  EXPECT_THAT(pieces.ids(first), ::testing::ElementsAre(0, 1));
  EXPECT_THAT(pieces.ids(prompt), ::testing::IsEmpty());
  EXPECT_THAT(pieces.ids(bad), ::testing::IsEmpty());
  EXPECT_THAT(pieces.ids(last), ::testing::ElementsAre(2, 0, 1));
  EXPECT_THAT(pieces.ids(end), ::testing::ElementsAre(2));
  EXPECT_EQ(pieces.text(last), "cab");
}

}  // namespace
}  // namespace easydata::trainer
