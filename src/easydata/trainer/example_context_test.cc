#include "easydata/trainer/example_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace easydata::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A byte-level tokenizer with the added tokens of a JSON list.
std::shared_ptr<const tokenizers::Tokenizer> Make(const std::string& added,
                                                  const std::string& options = "") {
  std::string vocabulary;
  int id = 0;
  for (const char c : std::string("abc!<>|=^")) {
    vocabulary += "\"" + std::string(1, c) + "\": " + std::to_string(id++) + ", ";
  }
  vocabulary += "\"Ġ\": " + std::to_string(id) + ", \"Ċ\": " + std::to_string(id + 1) +
                ", \"Ã\": " + std::to_string(id + 2) + ", \"©\": " + std::to_string(id + 3);
  const std::string prefix = options.empty() ? "false" : options;
  return tokenizers::Tokenizer::FromJson(
             R"({"version": "1.0", "truncation": null, "padding": null, "normalizer": null,
                 "post_processor": null, "decoder": null, "added_tokens": )" +
             added + R"(, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": )" + prefix +
             R"(, "trim_offsets": true, "use_regex": true},
                 "model": {"type": "BPE", "vocab": {)" +
             vocabulary + R"(}, "merges": [], "unk_token": null, "dropout": null,
                 "continuing_subword_prefix": null, "end_of_word_suffix": null,
                 "fuse_unk": false, "byte_fallback": false}})")
      .ValueOrDie();
}

std::string Added(int id, const std::string& content, const char* lstrip = "false") {
  return "{\"id\": " + std::to_string(id) + ", \"content\": \"" + content +
         "\", \"single_word\": false, \"lstrip\": " + lstrip +
         ", \"rstrip\": false, \"normalized\": false, \"special\": true}";
}

TEST(ExampleContextTest, TextsAreCutBehindTokensThatStandAlone) {
  const auto tokenizer = Make("[" + Added(20, "<|a|>") + "," + Added(21, "<|b|>", "true") + "," +
                              Added(22, "<=") + "," + Added(23, "<=>") + "]");
  EXPECT_THAT(FindCuts(*tokenizer, "<|a|> <|b|> <= <=>").ValueOrDie(), ElementsAre("<|a|>", "<=>"))
      << "one takes white space with it, one is a part of another";
  EXPECT_THAT(FindCuts(*tokenizer, "a <=>").ValueOrDie(), ElementsAre("<=>"));
  const auto overlapping =
      Make("[" + Added(20, "ab") + "," + Added(21, "bc") + "," + Added(22, "!b!") + "]");
  EXPECT_THAT(FindCuts(*overlapping, "ab bc !b!").ValueOrDie(), ElementsAre("ab"))
      << "of abc the first one is taken, of !b!b! the first, too";
}

TEST(ExampleContextTest, NothingIsCutWhereTextsBeginWithASpaceOfTheirOwn) {
  // The first word of a text gets a space before it: a text behind a cut would, too; but so does
  // what follows an added token.
  const auto tokenizer = Make("[" + Added(20, "<|a|>") + "]", "true");
  const auto cuts = FindCuts(*tokenizer, "<|a|>").ValueOrDie();
  for (const std::string& cut : cuts) {
    const auto whole = EncodeText(*tokenizer, "a" + cut + "b", false).ValueOrDie();
    auto parts = EncodeText(*tokenizer, "a" + cut, false).ValueOrDie();
    const auto rest = EncodeText(*tokenizer, "b", false).ValueOrDie();
    parts.insert(parts.end(), rest.begin(), rest.end());
    EXPECT_EQ(whole, parts);
  }
}

TEST(ExampleContextTest, TheLastCutIsTheEndOfItsToken) {
  const std::vector<std::string> cuts = {"<|a|>", "<=>"};
  EXPECT_EQ(LastCut("x<|a|>y<=>z<|a|>", 16, cuts), 16u);
  EXPECT_EQ(LastCut("x<|a|>y<=>z<|a|>", 15, cuts), 10u);
  EXPECT_EQ(LastCut("x<|a|>y<=>z<|a|>", 9, cuts), 6u);
  EXPECT_EQ(LastCut("x", 1, cuts), 0u);
  EXPECT_EQ(LastCut("", 0, cuts), 0u);
}

TEST(ExampleContextTest, SpecialTokensAroundATextAreFound) {
  const auto tokenizer = Make("[" + Added(20, "<|a|>") + "]");
  const SpecialFrame frame = FindSpecialFrame(*tokenizer).ValueOrDie();
  EXPECT_THAT(frame.before, IsEmpty());
  EXPECT_THAT(frame.after, IsEmpty());
}

}  // namespace
}  // namespace easydata::trainer
