#include "tokenizers/pretokenize/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/base/recorded_values.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

using testing::ElementsAre;

Result<PreTokenizerPlan> PreTokenizerFrom(const std::string& json, bool leave_bytes = false) {
  simdjson::dom::parser parser;
  simdjson::dom::element component;
  const auto error = parser.parse(json).get(component);
  EXPECT_EQ(error, simdjson::SUCCESS) << json;
  return MakePreTokenizer(component, leave_bytes);
}

std::vector<std::string> Words(const PreTokenizer* steps, std::string_view text,
                               bool at_start = true) {
  PieceText piece;
  piece.Reset(text, at_start && !text.empty() ? utf8::Decode(text.data()).length : 0);
  if (steps != nullptr) {
    const Status status = steps->PreTokenize(&piece);
    if (!status.ok()) return {status.ToString()};
  }
  std::vector<std::string> words;
  for (const Word word : piece.words) words.emplace_back(piece.TextOf(word));
  return words;
}

std::vector<std::string> Words(const std::string& json, std::string_view text,
                               bool at_start = true) {
  const auto plan = PreTokenizerFrom(json);
  if (!plan.ok()) return {plan.status().ToString()};
  return Words(plan->steps.get(), text, at_start);
}

// The reference's own pieces for whole texts.
using PreTokenizerRecordedTest = RecordedValuesTest;
INSTANTIATE_TEST_SUITE_P(By, PreTokenizerRecordedTest, BothRecorders(), RecorderName);

TEST_P(PreTokenizerRecordedTest, CutsAsTheReferenceDoes) {
  int checked = 0;
  for (const char* name : {"pre_tokenizer", "combo", "unicode", "added_tokens", "model",
                           "normalizer", "post_processor", "truncation", "padding"}) {
    const nlohmann::json file = Read(std::string("tokenizers/") + name + ".json");
    for (const auto& group : file["groups"]) {
      if (!group.contains("tokenizer") || !group["tokenizer"].contains("pre_tokenizer")) continue;
      const auto plan = PreTokenizerFrom(group["tokenizer"]["pre_tokenizer"].dump());
      ASSERT_TRUE(plan.ok()) << group["name"] << ": " << plan.status();
      for (const auto& test_case : group["cases"]) {
        if (!test_case.contains("pre_tokens")) continue;
        const std::string text = test_case.value("normalized", test_case["text"]);
        EXPECT_EQ(Words(plan->steps.get(), text),
                  test_case["pre_tokens"].get<std::vector<std::string>>())
            << group["name"] << ": " << test_case["text"];
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 800);
}

std::string Pretokens(const std::string& pattern, const std::string& behavior,
                      bool invert = false) {
  return nlohmann::json({{"type", "Split"},
                         {"pattern", nlohmann::json::parse(pattern)},
                         {"behavior", behavior},
                         {"invert", invert}})
      .dump();
}

TEST(PreTokenizerTest, SplitKnowsAllBehaviors) {
  for (const char* pattern : {R"({"String": "-"})", R"({"Regex": "-"})"}) {
    const std::string text = "-a--b-";
    EXPECT_THAT(Words(Pretokens(pattern, "Isolated"), text),
                ElementsAre("-", "a", "-", "-", "b", "-"));
    EXPECT_THAT(Words(Pretokens(pattern, "Removed"), text), ElementsAre("a", "b"));
    EXPECT_THAT(Words(Pretokens(pattern, "MergedWithPrevious"), text),
                ElementsAre("-", "a-", "-", "b-"));
    EXPECT_THAT(Words(Pretokens(pattern, "MergedWithNext"), text),
                ElementsAre("-a", "-", "-b", "-"));
    EXPECT_THAT(Words(Pretokens(pattern, "Contiguous"), text),
                ElementsAre("-", "a", "--", "b", "-"));
    EXPECT_THAT(Words(Pretokens(pattern, "Removed", true), text), ElementsAre("-", "-", "-", "-"));
    EXPECT_THAT(Words(Pretokens(pattern, "MergedWithNext", true), text),
                ElementsAre("-", "a-", "-", "b-"));
  }
}

TEST(PreTokenizerTest, EmptyMatchesCutWithoutWords) {
  EXPECT_THAT(Words(Pretokens(R"({"String": ""})", "Isolated"), "a中"), ElementsAre("a", "中"));
  EXPECT_THAT(Words(Pretokens(R"_({"Regex": "(?=b)"})_", "Removed"), "abb"),
              ElementsAre("a", "b", "b"));
}

TEST(PreTokenizerTest, MetaspaceFirstIsForTheBeginningOfTheText) {
  const std::string first =
      R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true})";
  EXPECT_THAT(Words(first, "a b"), ElementsAre("▁a", "▁b"));
  EXPECT_THAT(Words(first, "a b", /*at_start=*/false), ElementsAre("a", "▁b"));
  const std::string sequence =
      R"({"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, )" + first + "]}";
  EXPECT_THAT(Words(sequence, "a b"), ElementsAre("▁a", "b"));
  EXPECT_THAT(Words(sequence, " a b"), ElementsAre("a", "b"));
  EXPECT_TRUE(PreTokenizerFrom(sequence)->asks_for_origin);
  EXPECT_TRUE(PreTokenizerFrom(first)->asks_for_origin);
  EXPECT_FALSE(PreTokenizerFrom(R"({"type": "Metaspace", "replacement": "▁"})")->asks_for_origin);
}

TEST(PreTokenizerTest, MetaspaceTakesItsReplacementForASpace) {
  const std::string always = R"({"type": "Metaspace", "replacement": "▁"})";
  EXPECT_THAT(Words(always, "▁a▁ b "), ElementsAre("▁a", "▁", "▁b", "▁"));
  EXPECT_THAT(Words(always, " a"), ElementsAre("▁a"));
}

TEST(PreTokenizerTest, TrailingByteLevelMayLeaveBytes) {
  const std::string byte_level =
      R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})";
  EXPECT_THAT(Words(byte_level, "é b"), ElementsAre("ĠÃ©", "Ġb"));
  const auto plan = PreTokenizerFrom(byte_level, /*leave_bytes=*/true);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->maps_bytes);
  EXPECT_THAT(Words(plan->steps.get(), "é b"), ElementsAre(" é", " b"));
  const auto inner = PreTokenizerFrom(R"({"type": "Sequence", "pretokenizers": [)" + byte_level +
                                          R"(, {"type": "Digits", "individual_digits": false}]})",
                                      /*leave_bytes=*/true);
  ASSERT_TRUE(inner.ok());
  EXPECT_FALSE(inner->maps_bytes);
  // The characters of U+00B2 are spelled with those of its two bytes, one of them a number.
  EXPECT_THAT(Words(inner->steps.get(), "²"), ElementsAre("ĠÂ", "²"));
}

TEST(PreTokenizerTest, NothingToDoGivesNoSteps) {
  EXPECT_EQ(PreTokenizerFrom("null")->steps, nullptr);
  EXPECT_EQ(PreTokenizerFrom(R"({"type": "Sequence", "pretokenizers": []})")->steps, nullptr);
  const auto plan = PreTokenizerFrom(
      R"({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false})",
      /*leave_bytes=*/true);
  EXPECT_EQ(plan->steps, nullptr);
  EXPECT_TRUE(plan->maps_bytes);
  EXPECT_THAT(Words(nullptr, ""), ElementsAre());
}

TEST(PreTokenizerTest, LeavesOddFilesToTheReference) {
  for (
      const char* json : {
          R"({"type": "Nonsense"})",
          R"({"individual_digits": true})",
          R"({"type": "Delimiter", "delimiter": "-"})",
          R"({"type": "CharDelimiterSplit", "delimiter": "--"})",
          R"({"type": "CharDelimiterSplit"})",
          R"({"type": "FixedLength", "length": 0})",
          R"({"type": "Digits"})",
          R"({"type": "Punctuation", "behavior": "isolated"})",
          R"({"type": "ByteLevel", "add_prefix_space": true})",
          R"({"type": "Split", "pattern": "-", "behavior": "Isolated", "invert": false})",
          R"({"type": "Split", "pattern": {"String": "-"}, "behavior": "Isolated"})",
          R"({"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": false})",
          R"({"type": "Metaspace", "replacement": "▁", "add_prefix_space": false})",
          R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": null})",
          R"({"type": "Sequence"})",
          R"(["Whitespace"])",
      }) {
    EXPECT_TRUE(PreTokenizerFrom(json).status().IsNotImplemented()) << json;
  }
}

}  // namespace
}  // namespace easydata::tokenizers
