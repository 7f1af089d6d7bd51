// The engine against the reference implementation, on the files of all families.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/chosen_cases.h"
#include "reference_tokenizer/sample_files.h"
#include "reference_tokenizer/tokenizer.h"
#include "tokenizers/tokenizer.h"

namespace easydata::tokenizers {
namespace {

class DifferentialTest : public testing::TestWithParam<size_t> {};

TEST_P(DifferentialTest, TheEngineDoesAsTheReference) {
  const reference::SampleFile& file = reference::SampleFiles()[GetParam()];
  const auto reference = reference::Tokenizer::FromJson(file.json);
  ASSERT_TRUE(reference.ok()) << reference.status();
  for (const TokenizerOptions& options :
       {TokenizerOptions{}, TokenizerOptions{1, "scalar"}, TokenizerOptions{1 << 14, ""}}) {
    const auto engine = Tokenizer::FromJson(file.json, options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    std::mt19937 random(7);
    for (int i = 0; i < 150; ++i) {
      const std::string text = reference::SampleText(static_cast<int>(random() % 25), &random);
      // A copy that ends where its memory ends, so that a sanitizer sees a read beyond it.
      const std::unique_ptr<char[]> copy(new char[text.size()]);
      std::memcpy(copy.get(), text.data(), text.size());
      for (const bool special : {true, false}) {
        std::vector<int32_t> ids;
        const Status status = (*engine)->Encode({copy.get(), text.size()}, {special, 0}, &ids);
        const auto expected = (*reference)->Encode(text, std::nullopt, special);
        ASSERT_EQ(status.ok(), expected.ok()) << status << " " << expected.status();
        if (status.ok()) {
          ASSERT_EQ(ids, expected->ids) << testing::PrintToString(text);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(SampleFiles, DifferentialTest,
                         testing::Range<size_t>(0, reference::SampleFiles().size()),
                         [](const auto& info) {
                           std::string name = reference::SampleFiles()[info.param].name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Metaspace "first" asks where a word comes from: behind normalizers that drop, join or add what
// stands first, behind added tokens found in normalized text, and behind steps that rewrite it.
class OriginFiles {
 public:
  std::string Next() {
    nlohmann::json file = base_;
    file["normalizer"] = {{"type", "Sequence"}, {"normalizers", SomeOf(kNormalizers, 3)}};
    nlohmann::json steps = SomeOf(kSteps, 2);
    steps.push_back({{"type", "Metaspace"},
                     {"replacement", "\u2581"},
                     {"prepend_scheme", "first"},
                     {"split", random_() % 2 == 0}});
    file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", steps}};
    file["added_tokens"] = SomeOf(kTokens, 2);
    return file.dump();
  }

  std::string Text() {
    std::string text;
    if (random_() % 2 == 0) text = kStarts[random_() % std::size(kStarts)];
    return text + reference::SampleText(static_cast<int>(random_() % 6), &random_);
  }

 private:
  template <size_t n>
  nlohmann::json SomeOf(const char* const (&all)[n], size_t most) {
    nlohmann::json some = nlohmann::json::array();
    for (size_t count = random_() % (most + 1); count > 0; --count) {
      some.push_back(nlohmann::json::parse(all[random_() % n]));
    }
    return some;
  }

  static constexpr const char* kNormalizers[] = {
      R"({"type": "NFC"})",
      R"({"type": "NFD"})",
      R"({"type": "NFKC"})",
      R"({"type": "NFKD"})",
      R"({"type": "Lowercase"})",
      R"({"type": "Nmt"})",
      R"({"type": "ByteLevel"})",
      R"({"type": "StripAccents"})",
      R"({"type": "Strip", "strip_left": true, "strip_right": true})",
      R"({"type": "Strip", "strip_left": false, "strip_right": true})",
      R"({"type": "Prepend", "prepend": "\u2581"})",
      R"({"type": "Prepend", "prepend": " a"})",
      R"({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})",
      R"({"type": "Replace", "pattern": {"String": "ab"}, "content": "c "})",
      R"({"type": "Replace", "pattern": {"String": "a"}, "content": ""})",
      R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})",
      R"({"type": "Replace", "pattern": {"Regex": "[ab]+"}, "content": "b a"})",
      R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
          "strip_accents": true, "lowercase": true})",
      R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
          "strip_accents": false, "lowercase": false})",
      R"({"type": "BertNormalizer", "clean_text": false, "handle_chinese_chars": false,
          "strip_accents": true, "lowercase": false})"};
  static constexpr const char* kSteps[] = {
      R"({"type": "WhitespaceSplit"})",
      R"({"type": "Whitespace"})",
      R"({"type": "Punctuation"})",
      R"({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"})",
      R"({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"})",
      R"({"type": "Split", "pattern": {"Regex": "[ab]"}, "behavior": "Isolated", "invert": false})",
      R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})",
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
          "use_regex": false})"};
  static constexpr const char* kTokens[] = {
      R"({"id": 0, "content": "a", "single_word": false, "lstrip": false, "rstrip": false,
          "normalized": true, "special": false})",
      R"({"id": 0, "content": "f", "single_word": false, "lstrip": false, "rstrip": false,
          "normalized": true, "special": false})",
      R"({"id": 0, "content": "\uFB01", "single_word": false, "lstrip": false, "rstrip": true,
          "normalized": true, "special": false})",
      R"({"id": 0, "content": "<s>", "single_word": false, "lstrip": true, "rstrip": false,
          "normalized": false, "special": true})"};
  static constexpr const char* kStarts[] = {" ",
                                            "  ",
                                            "\n",
                                            "ab",
                                            "a b",
                                            "ba ",
                                            "\u0301",
                                            "\u0344",
                                            "e\u0301 ",
                                            "a\u0316\u0301\u0316",
                                            "\u0301\u0316a",
                                            "\uFB01",
                                            "\u4E2D",
                                            "\u4E2D\u0301",
                                            "\u0130",
                                            "\u200D\u0301",
                                            "\u1100\u1161\u11A8",
                                            "\u2581",
                                            "<s>",
                                            "<s> a"};

  std::mt19937 random_{static_cast<unsigned>(11 + ChosenCases().first)};
  nlohmann::json base_ = [] {
    for (const reference::SampleFile& file : reference::SampleFiles()) {
      if (std::string_view(file.name) == "unigram-bytes") return nlohmann::json::parse(file.json);
    }
    return nlohmann::json();
  }();
};

TEST(OriginTest, TheEngineDoesAsTheReference) {
  OriginFiles files;
  int num_compared = 0;
  for ([[maybe_unused]] const int64_t i : ChosenCases(0, 600)) {
    const std::string file = files.Next();
    const auto reference = reference::Tokenizer::FromJson(file);
    if (!reference.ok()) continue;  // tokens of one normal form, or of none
    const auto engine = Tokenizer::FromJson(file);
    ASSERT_TRUE(engine.ok()) << engine.status() << file;
    for (int k = 0; k < 60; ++k) {
      const std::string text = files.Text();
      std::vector<int32_t> ids;
      const Status status = (*engine)->Encode(text, {true, 0}, &ids);
      const auto expected = (*reference)->Encode(text, std::nullopt, true);
      if (expected.status().IsNotImplemented()) continue;
      ASSERT_EQ(status.ok(), expected.ok()) << status << " " << expected.status() << file;
      if (!status.ok()) continue;
      ASSERT_EQ(ids, expected->ids) << testing::PrintToString(text) << file;
      ++num_compared;
    }
  }
  EXPECT_GT(num_compared, 20000 / ChosenCases().step);
}

}  // namespace
}  // namespace easydata::tokenizers
