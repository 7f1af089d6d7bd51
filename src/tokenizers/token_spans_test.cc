#include "tokenizers/token_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tokenizers/decode/text_decoder.h"
#include "tokenizers/tokenizer_test_files.h"

namespace easydata::tokenizers {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const Tokenizer> MakeFromFile(const TestFile& file) {
  return Tokenizer::FromJson(MakeTestFile(file)).ValueOrDie();
}

std::vector<int32_t> TextIds(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  EncodeOptions options;
  options.add_special_tokens = false;
  EXPECT_TRUE(tokenizer.Encode(text, options, &ids).ok());
  return ids;
}

TEST(TokenSpansTest, BytesOfTokensFollowEachOther) {
  std::mt19937 random(7);
  TestFile file;
  file.merges = RandomMerges("abc ", 40, &random);
  file.added_tokens = "[" + AddedTokenJson("<|end|>", "s") + "," + AddedTokenJson("<t>", "") + "]";
  const auto tokenizer = MakeFromFile(file);
  const TokenSpans spans(*tokenizer);
  for (int i = 0; i < 200; ++i) {
    std::string text = RandomText(20, &random) + "<|end|>" + RandomText(9, &random) + "<t>é";
    const auto ids = TextIds(*tokenizer, text);
    std::vector<size_t> ends;
    ASSERT_TRUE(spans.Find(text, ids, &ends));
    ASSERT_EQ(ends.size(), ids.size());
    EXPECT_EQ(ends.back(), text.size());
    size_t begin = 0;
    std::string written;
    for (size_t k = 0; k < ids.size(); ++k) {
      // A token alone is what stands there, bytes of characters apart.
      const std::string part = text.substr(begin, ends[k] - begin);
      const auto decoded = tokenizer->decoder()->Decode({&ids[k], 1}, false).ValueOrDie();
      if (decoded.find("\xEF\xBF\xBD") == std::string::npos) {
        EXPECT_EQ(part, decoded);
      }
      written += part;
      begin = ends[k];
    }
    EXPECT_EQ(written, text);
  }
}

TEST(TokenSpansTest, WhiteSpaceThatATokenStripsIsItsOwn) {
  TestFile file;
  file.added_tokens = "[" + AddedTokenJson("<l>", "l") + "," + AddedTokenJson("<r>", "r") + "]";
  const auto tokenizer = MakeFromFile(file);
  const std::string text = "a <l>b<r> c";
  std::vector<size_t> ends;
  ASSERT_TRUE(TokenSpans(*tokenizer).Find(text, TextIds(*tokenizer, text), &ends));
  EXPECT_THAT(ends, ElementsAre(1, 5, 6, 10, 11));
}

TEST(TokenSpansTest, SpecialTokensAreKnown) {
  TestFile file;
  file.added_tokens = "[" + AddedTokenJson("<|end|>", "s") + "," + AddedTokenJson("<t>", "") + "]";
  const auto tokenizer = MakeFromFile(file);
  const TokenSpans spans(*tokenizer);
  EXPECT_TRUE(spans.IsSpecial(*tokenizer->TokenToId("<|end|>")));
  EXPECT_FALSE(spans.IsSpecial(*tokenizer->TokenToId("<t>")));
  EXPECT_FALSE(spans.IsSpecial(*tokenizer->TokenToId("a")));
  EXPECT_FALSE(spans.IsSpecial(-1));
  EXPECT_FALSE(spans.IsSpecial(1 << 30));
}

TEST(TokenSpansTest, NothingIsGuessed) {
  TestFile file;
  file.normalizer = R"({"type": "Lowercase"})";
  const auto tokenizer = MakeFromFile(file);
  const TokenSpans spans(*tokenizer);
  std::vector<size_t> ends;
  EXPECT_TRUE(spans.Find("abc", TextIds(*tokenizer, "abc"), &ends));
  EXPECT_FALSE(spans.Find("ABC", TextIds(*tokenizer, "ABC"), &ends));
  EXPECT_FALSE(spans.Find("abcd", TextIds(*tokenizer, "abc"), &ends)) << "a text that goes on";
  const std::vector<int32_t> unknown = {1 << 30};
  EXPECT_FALSE(spans.Find("a", unknown, &ends));
}

}  // namespace
}  // namespace easydata::tokenizers
