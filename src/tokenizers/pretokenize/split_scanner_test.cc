#include "tokenizers/pretokenize/split_scanner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tokenizers/kernels.h"
#include "tokenizers/pretokenize/known_patterns.h"
#include "tokenizers/pretokenize/literal_split_for_tests.h"
#include "tokenizers/regex/regex.h"
#include "tokenizers/tokenizer_test_files.h"
#include "tokenizers/unicode_properties.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

using Ends = std::vector<uint32_t>;

// Splits a copy that ends where its memory ends, so that a sanitizer sees a read beyond it.
Ends Split(const Kernels& kernels, SplitPattern pattern, std::string_view text, size_t capacity) {
  const std::unique_ptr<char[]> copy(new char[text.size()]);
  std::memcpy(copy.get(), text.data(), text.size());
  Ends all;
  Ends ends(capacity);
  for (size_t position = 0; position < text.size();) {
    const size_t count = kernels.split[static_cast<size_t>(pattern)](
        copy.get(), text.size(), &position, ends.data(), capacity);
    EXPECT_GT(count, 0u);
    if (count == 0) break;
    all.insert(all.end(), ends.begin(), ends.begin() + static_cast<ptrdiff_t>(count));
    EXPECT_EQ(all.back(), position);
  }
  return all;
}

// What the pattern's regexes find, one after the other.
class RegexSplitter {
 public:
  explicit RegexSplitter(SplitPattern pattern)
      : RegexSplitter(RegexesOf(pattern), TraitsOf(pattern).digits_apart) {}
  RegexSplitter(const std::vector<std::string_view>& regexes, bool digits_apart)
      : digits_apart_(digits_apart) {
    for (const std::string_view regex : regexes) regexes_.push_back(*Regex::Compile(regex));
  }

  Ends Split(std::string_view text) const {
    Ends ends = {static_cast<uint32_t>(text.size())};
    if (text.empty()) return {};
    if (digits_apart_) ends = CutDigits(text);
    std::vector<Regex::Match> matches;
    for (const auto& regex : regexes_) {
      Ends cut;
      uint32_t begin = 0;
      for (const uint32_t end : ends) {
        EXPECT_TRUE(regex->FindAll(text.substr(begin, end - begin), &matches).ok());
        size_t done = 0;
        for (const Regex::Match& match : matches) {
          if (match.begin > done) cut.push_back(static_cast<uint32_t>(begin + match.begin));
          cut.push_back(static_cast<uint32_t>(begin + match.end));
          done = match.end;
        }
        if (done < end - begin) cut.push_back(end);
        begin = end;
      }
      ends = std::move(cut);
    }
    return ends;
  }

 private:
  static Ends CutDigits(std::string_view text) {
    Ends ends;
    for (size_t i = 0; i < text.size();) {
      const utf8::CodePoint c = utf8::Decode(text.data() + i);
      const bool numeric = UnicodeProperties::Get().is_numeric(c.value);
      if (numeric && i > 0 && (ends.empty() || ends.back() != i)) {
        ends.push_back(static_cast<uint32_t>(i));
      }
      i += static_cast<size_t>(c.length);
      if (numeric || i == text.size()) ends.push_back(static_cast<uint32_t>(i));
    }
    return ends;
  }

  const bool digits_apart_;
  std::vector<std::unique_ptr<const Regex>> regexes_;
};

class SplitTest : public testing::TestWithParam<SplitPattern> {
 protected:
  void SetUp() override {
    for (const char* name : {"scalar", "avx2", "avx512"}) {
      if (const Kernels* kernels = FindKernels(name)) kernels_.push_back(kernels);
    }
  }

  void Check(std::string_view text, size_t capacity = 64) {
    const Ends expected = splitter_.Split(text);
    for (const Kernels* kernels : kernels_) {
      ASSERT_EQ(Split(*kernels, GetParam(), text, capacity), expected)
          << kernels->name << ", text: " << testing::PrintToString(std::string(text));
    }
  }

  const RegexSplitter splitter_{GetParam()};
  std::vector<const Kernels*> kernels_;
};

// Characters of every class that a pattern tells apart.
const std::vector<std::string>& Kinds() {
  static const std::vector<std::string> kinds = {
      "a",  "s",  "E", "r",      "L",      "1",      " ",      "\n",     "\r",   "\t", "!",
      "'",  "/",  "é", "Ж",      "ſ",      "²",      "１",     "中",     "龦",   "の", "・",
      "゛", "각", "ʰ", "\u00a0", "\u0301", "\u3099", "\u3040", "\u200b", "\x01", "🙂", "ǅ"};
  return kinds;
}

TEST_P(SplitTest, AllShortStringsOfRepresentatives) {
  std::vector<std::string> level = {""};
  for (int length = 1; length <= 3; ++length) {
    std::vector<std::string> next;
    for (const std::string& prefix : level) {
      for (const std::string& kind : Kinds()) next.push_back(prefix + kind);
    }
    level = std::move(next);
    for (const std::string& text : level) Check(text);
  }
}

TEST_P(SplitTest, RandomStringsOfRepresentatives) {
  std::mt19937 random(3);
  for (int i = 0; i < 30000; ++i) {
    std::string text;
    for (size_t k = 4 + random() % 9; k > 0; --k) text += Kinds()[random() % Kinds().size()];
    Check(text);
  }
}

TEST_P(SplitTest, ShortStringsAtEveryOffsetOfAWindow) {
  const std::vector<std::string> middles = {
      " 's b",     "\n \n  x",  "!\n\n  \n y", "'ſé 12345 ", "—a  中",
      "a'll\t\tb", "x's'sY's1", "中A中a'",     "!\n//\n/",   "(abcé \x01\x01a",
      "の・中 1 ", "हिन्दी ไทย", "각а́б ABc中D"};
  for (const char* filler : {"x", "X", " ", "\n", "7", "!", "é", "中", "各", "/"}) {
    std::string prefix;
    for (int i = 0; i < 70; ++i, prefix += filler) {
      for (const std::string& middle : middles) {
        Check(prefix + middle + prefix.substr(0, 12 * std::strlen(filler)));
      }
    }
  }
}

TEST_P(SplitTest, RandomTexts) {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    Check(RandomText(1 + static_cast<int>(random() % 120), &random), 64 + random() % 70);
  }
}

TEST_P(SplitTest, LongRuns) {
  for (const char* unit :
       {"a",   "1",   " ", "\n", "!",  "'",      "'s", "a's",  " a", "\t ",   "中",
        "\n ", "!\n", "²", "A",  "aB", "\u00a0", "/",  "!/\n", "の", "\u0301"}) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += unit;
    Check(text);
    Check(text + "x");
    Check("x" + text + "!");
  }
}

TEST_P(SplitTest, EveryCodePointInContext) {
  std::string text;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    // Of the planes without characters some.
    if (c >= 0x32400 && c % 251 != 0 && (c < 0xE0000 || c >= 0xE0200)) continue;
    std::string one;
    utf8::Append(c, &one);
    text += "a" + one + "b " + one + "!" + one + one + "\n" + one + "1" + one + "A'" + one + " ";
    if (text.size() > 4096) {
      ASSERT_NO_FATAL_FAILURE(Check(text));
      text.clear();
    }
  }
  Check(text);
}

std::string NameOf(const testing::TestParamInfo<SplitPattern>& info) {
  switch (info.param) {
    case SplitPattern::kGpt2:
      return "Gpt2";
    case SplitPattern::kLlama3:
      return "Llama3";
    case SplitPattern::kQwen2:
      return "Qwen2";
    case SplitPattern::kQwen35:
      return "Qwen35";
    case SplitPattern::kO200k:
      return "O200k";
    case SplitPattern::kTekken:
      return "Tekken";
    case SplitPattern::kDeepSeekV3:
      return "DeepSeekV3";
    case SplitPattern::kDigitsGpt2:
      break;
  }
  return "DigitsGpt2";
}

INSTANTIATE_TEST_SUITE_P(Patterns, SplitTest,
                         testing::Values(SplitPattern::kGpt2, SplitPattern::kLlama3,
                                         SplitPattern::kQwen2, SplitPattern::kQwen35,
                                         SplitPattern::kO200k, SplitPattern::kTekken,
                                         SplitPattern::kDeepSeekV3, SplitPattern::kDigitsGpt2),
                         NameOf);

TEST(KnownPatternsTest, SpellingsFindTheSame) {
  int spellings = 0;
  for (size_t i = 0; i < kNumSplitPatterns; ++i) {
    const auto pattern = static_cast<SplitPattern>(i);
    const RegexSplitter usual(pattern);
    for (const std::string_view spelling : SpellingsOf(pattern)) {
      ++spellings;
      const RegexSplitter other({spelling}, false);
      std::mt19937 random(4);
      for (int k = 0; k < 4000; ++k) {
        std::string text = RandomText(1 + static_cast<int>(random() % 20), &random);
        for (size_t n = random() % 6; n > 0; --n) text += Kinds()[random() % Kinds().size()];
        ASSERT_EQ(other.Split(text), usual.Split(text)) << spelling << ": " << text;
      }
    }
  }
  EXPECT_GE(spellings, 9);
}

// The regexes are compared with it, for the patterns that it knows.
TEST(KnownPatternsTest, RegexesAgreeWithTheLiteralSplit) {
  for (const SplitPattern pattern :
       {SplitPattern::kGpt2, SplitPattern::kLlama3, SplitPattern::kQwen2}) {
    const RegexSplitter splitter(pattern);
    std::mt19937 random(12);
    for (int i = 0; i < 2000; ++i) {
      const std::string text = RandomText(1 + static_cast<int>(random() % 60), &random);
      ASSERT_EQ(splitter.Split(text), LiteralSplit(pattern, text)) << text;
    }
  }
}

TEST(KnownPatternsTest, RecognizesOtherSpellingsOfTheSame) {
  EXPECT_EQ(
      FindSplitPattern(
          "'s|'t|'re|'ve|'m|'ll|'d| ?[\\p{L}]+| ?\\p{N}+| ?[^\\s\\p{N}\\p{L}]+|\\s+(?!\\S)|\\s+"),
      SplitPattern::kGpt2);
  EXPECT_EQ(FindSplitPattern("'s|'t| ?\\p{L}+| ?\\p{N}+|\\s+"), std::nullopt);
  EXPECT_EQ(FindSplitPattern("("), std::nullopt);
}

}  // namespace
}  // namespace easydata::tokenizers
