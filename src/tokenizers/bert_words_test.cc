#include "tokenizers/bert_words.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/chosen_cases.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

constexpr std::string_view kPreTokenizer = R"({"type":"BertPreTokenizer"})";

std::vector<std::string> BertWordsOf(const PreTokenizer& pre_tokenizer, std::string_view text) {
  static PieceText piece;  // reused, as by an encoder
  piece.Reset(text, 0);
  EXPECT_TRUE(pre_tokenizer.PreTokenize(&piece).ok());
  std::vector<std::string> words;
  for (const Word word : piece.words) words.emplace_back(piece.TextOf(word));
  return words;
}

// Compares the words of one pass with those of the two components one after the other.
class BothWays {
 public:
  explicit BothWays(const BertOptions& options) : normalizer_(options), words_(&normalizer_) {
    simdjson::dom::parser parser;
    const simdjson::dom::element component =
        parser.parse(kPreTokenizer.data(), kPreTokenizer.size()).value_unsafe();
    pre_tokenizer_ = MakePreTokenizer(component, false).ValueOrDie().steps;
  }

  void Compare(std::string_view text) const {
    std::string normal;
    ASSERT_TRUE(normalizer_.Normalize(text, &normal).ok());
    ASSERT_EQ(BertWordsOf(words_, text), BertWordsOf(*pre_tokenizer_, normal)) << text;
  }

  const BertWords& words() const { return words_; }

 private:
  BertNormalizer normalizer_;
  BertWords words_;
  std::unique_ptr<const PreTokenizer> pre_tokenizer_;
};

TEST(BertWordsTest, CutsWhatTheComponentsCut) {
  const BothWays uncased({true, true, true, true});
  EXPECT_EQ(BertWordsOf(uncased.words(), "Hello, W\u00f6rld!\n don't\x01x"),
            (std::vector<std::string>{"hello", ",", "world", "!", "don", "'", "tx"}));
  EXPECT_EQ(BertWordsOf(uncased.words(), "\u4e2d\u6587x\u3002"),
            (std::vector<std::string>{"\u4e2d", "\u6587", "x", "\u3002"}));
  for (const char* text : {"", " ", "a", ".", "\x01", "\u00e9", "\u3000", "a.", ".a", "  a  "}) {
    uncased.Compare(text);
  }
}

TEST(BertWordsTest, AgreesWithTheComponentsOnRandomText) {
  const std::u32string characters =
      U"aaaabcdXYZ   .,'-\n\t\r\x01\x7f\u00e9\u0301\u4e2d\u3000\u2019\u0130\u00a0\ufffd\uac01"
      U"\U0001e8d0\U00010f46\u1df5\u1dfb"
      U"@[`{/:~!";
  std::mt19937 random(7);
  for (const BertOptions& options :
       {BertOptions{true, true, true, true}, BertOptions{true, false, false, false},
        BertOptions{true, true, false, true}, BertOptions{true, false, true, false}}) {
    const BothWays both(options);
    for (int round = 0; round < 3000; ++round) {
      // Long stretches of ASCII, so that blocks are full, and others to break them.
      const size_t kinds = round % 3 == 0 ? characters.size() : 14;
      std::string text;
      for (size_t length = random() % 200; length > 0; --length) {
        const bool any = random() % 50 == 0;
        utf8::Append(characters[random() % (any ? characters.size() : kinds)], &text);
      }
      both.Compare(text);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BertWordsTest, EveryCodePointBetweenLetters) {
  const BothWays uncased({true, true, true, true});
  const BothWays cased({true, false, false, false});
  const auto stride = static_cast<char32_t>(ChosenCases().step);
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : stride) {
    if (c - 0xD800 < 0x800) continue;
    std::string text = "Ab";
    utf8::Append(c, &text);
    text += "cD";
    uncased.Compare(text);
    cased.Compare(text);
    if (HasFatalFailure()) return;
  }
}

TEST(BertWordsTest, OnlyForTheExactComponents) {
  simdjson::dom::parser parser;
  const BertNormalizer clean({true, true, true, true});
  const BertNormalizer unclean({false, true, true, true});
  const auto make = [&](const Normalizer* normalizer, std::string_view json) {
    return BertWords::Make(normalizer, parser.parse(json.data(), json.size()).value_unsafe());
  };
  EXPECT_NE(make(&clean, kPreTokenizer), nullptr);
  EXPECT_EQ(make(&unclean, kPreTokenizer), nullptr);
  EXPECT_EQ(make(nullptr, kPreTokenizer), nullptr);
  EXPECT_EQ(make(&clean, R"({"type":"Whitespace"})"), nullptr);
  EXPECT_EQ(make(&clean, "null"), nullptr);
  EXPECT_EQ(BertWords::Make(&clean, std::nullopt), nullptr);
}

}  // namespace
}  // namespace easydata::tokenizers
