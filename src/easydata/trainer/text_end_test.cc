#include "easydata/trainer/text_end.h"

#include <gtest/gtest.h>

namespace easydata::trainer {
namespace {

using Ids = std::vector<int32_t>;

TokenRoles Roles() {
  TokenRoles tokens;
  tokens.eos_id = 2;
  tokens.eos_text = "</s>";
  return tokens;
}

TEST(TextEndTest, TheEosThatATextSpellsAtItsEndIsNotEncoded) {
  TokenRoles tokens = Roles();
  EXPECT_EQ(WithoutEos("a</s>", tokens), "a");
  EXPECT_EQ(WithoutEos("a</s></s>", tokens), "a</s>");
  EXPECT_EQ(WithoutEos("a</s> ", tokens), "a</s> ");
  EXPECT_EQ(WithoutEos("</s>", tokens), "");
  // What another text has begun is that one's.
  EXPECT_EQ(WithoutEos("a</s>b", tokens, 5), "a</s>b");
  EXPECT_EQ(WithoutEos("a</s>", tokens, 5), "a</s>");
  EXPECT_EQ(WithoutEos("a</s>", tokens, 2), "a</s>");
  tokens.are_spelled = false;
  EXPECT_EQ(WithoutEos("a</s>", tokens), "a</s>");
  EXPECT_EQ(WithoutEos("a</s>", TokenRoles()), "a</s>");
}

TEST(TextEndTest, TheEosIsPutBehindTheTextOnce) {
  const auto ended = [](Ids ids, const Ids& after, const TokenRoles& tokens = Roles()) {
    EndInEos(tokens, after, &ids);
    return ids;
  };
  EXPECT_EQ(ended({5, 6}, {}), (Ids{5, 6, 2}));
  EXPECT_EQ(ended({}, {}), (Ids{2}));
  // One that the text says within, at its end too, is no end.
  EXPECT_EQ(ended({5, 2}, {}), (Ids{5, 2, 2}));
  // The encoder's own tokens: it may put EOS there itself.
  EXPECT_EQ(ended({5, 9}, {9}), (Ids{5, 2, 9}));
  EXPECT_EQ(ended({5, 2}, {2}), (Ids{5, 2}));
  EXPECT_EQ(ended({5, 2, 9}, {2, 9}), (Ids{5, 2, 9}));
  EXPECT_EQ(ended({5, 6}, {}, TokenRoles()), (Ids{5, 6}));
}

}  // namespace
}  // namespace easydata::trainer
