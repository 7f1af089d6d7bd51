#include "easydata/tokenizer/pretokenize/split_scanner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "easydata/tokenizer/kernels.h"
#include "easydata/tokenizer/literal_tokenizer.h"
#include "easydata/tokenizer/tokenizer_test_files.h"

namespace easydata {
namespace {

constexpr SplitPattern kPatterns[] = {SplitPattern::kGpt2, SplitPattern::kLlama3,
                                      SplitPattern::kQwen2};

// Splits a copy that ends where its memory ends, so that a sanitizer sees a read beyond it.
std::vector<uint32_t> Split(const Kernels& kernels, SplitPattern pattern, std::string_view text,
                            size_t capacity = 64) {
  const std::unique_ptr<char[]> copy(new char[text.size()]);
  std::memcpy(copy.get(), text.data(), text.size());
  std::vector<uint32_t> all;
  std::vector<uint32_t> ends(capacity);
  for (size_t position = 0; position < text.size();) {
    const size_t count = kernels.split[static_cast<int>(pattern)](copy.get(), text.size(),
                                                                  &position, ends.data(), capacity);
    EXPECT_GT(count, 0u);
    if (count == 0) break;
    all.insert(all.end(), ends.begin(), ends.begin() + static_cast<ptrdiff_t>(count));
    EXPECT_EQ(all.back(), position);
  }
  return all;
}

class SplitTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kernels_ = FindKernels(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this processor lacks " << GetParam();
  }

  void Check(std::string_view text, size_t capacity = 64) {
    for (const SplitPattern pattern : kPatterns) {
      ASSERT_EQ(Split(*kernels_, pattern, text, capacity), LiteralTokenizer::Split(pattern, text))
          << "pattern " << static_cast<int>(pattern)
          << ", text: " << testing::PrintToString(std::string(text));
    }
  }

  const Kernels* kernels_ = nullptr;
};

TEST_P(SplitTest, AllShortStringsOfRepresentatives) {
  const std::vector<std::string> kinds = {"a", "s", "e", "r", "1",  " ", "\n",     "\t",
                                          "!", "'", "é", "ſ", "中", "²", "\u00a0", "🙂"};
  std::vector<std::string> level = {""};
  for (int length = 1; length <= 4; ++length) {
    std::vector<std::string> next;
    for (const std::string& prefix : level) {
      for (const std::string& kind : kinds) next.push_back(prefix + kind);
    }
    level = std::move(next);
    for (const std::string& text : level) Check(text);
  }
}

TEST_P(SplitTest, ShortStringsAtEveryOffsetOfAWindow) {
  const std::vector<std::string> middles = {" 's b",      "\n \n  x", "!\n\n  \n y",
                                            "'ſé 12345 ", "—a  中",   "a'll\t\tb"};
  for (const char* filler : {"x", " ", "\n", "7", "!", "é"}) {
    std::string prefix;
    for (int i = 0; i < 140; ++i, prefix += filler) {
      for (const std::string& middle : middles)
        Check(prefix + middle + prefix.substr(0, 12 * std::strlen(filler)));
    }
  }
}

TEST_P(SplitTest, RandomTexts) {
  std::mt19937 random(11);
  for (int i = 0; i < 4000; ++i)
    Check(RandomText(1 + static_cast<int>(random() % 120), &random), 64 + random() % 70);
}

TEST_P(SplitTest, LongRuns) {
  for (const char* unit :
       {"a", "1", " ", "\n", "!", "'", "'s", " a", "\t ", "中", "\n ", "!\n", "²", "\u00a0"}) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += unit;
    Check(text);
    Check(text + "x");
    Check("x" + text + "!");
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SplitTest, testing::Values("scalar", "avx2", "avx512"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace easydata
