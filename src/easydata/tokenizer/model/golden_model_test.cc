// The golden cases that show what a model makes of words, with the words as the reference cut them.

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/tokenizer/model/model_test_files.h"

namespace easydata {
namespace {

using nlohmann::json;

std::string ReadGolden(const std::string& name) {
  const char* shared = std::getenv("EASYDATA_SHARED_DIR");
  if (shared == nullptr) return {};
  std::ifstream file(std::string(shared) + "/data/golden/tokenizers/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The model's JSON text as the file spells it, which a parsed and printed copy would not keep.
std::string ModelText(const std::string& file) {
  simdjson::padded_string padded(file);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::value model;
  std::string_view text;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
      document["model"].get(model) != simdjson::SUCCESS ||
      model.raw_json().get(text) != simdjson::SUCCESS) {
    return {};
  }
  return std::string(text);
}

// Ids of the words of a case; nothing where the model fails.
std::optional<std::vector<int32_t>> EncodeWords(const Model& model,
                                                const std::vector<std::string>& words) {
  IdBuffer ids;
  const auto scratch = model.MakeScratch();
  for (const std::string& word : words) {
    if (word.empty()) continue;
    if (!model.EncodeWord(word, scratch.get(), &ids).ok()) return std::nullopt;
  }
  return std::vector<int32_t>(ids.data(), ids.data() + ids.size());
}

bool OnlyCutsAndEncodes(const json& file) {
  for (const char* key : {"added_tokens", "post_processor", "truncation", "padding"}) {
    if (file.contains(key) && !file[key].empty()) return false;
  }
  return true;
}

std::vector<std::string> WordsOf(const json& golden, const json& file) {
  if (golden.contains("pre_tokens")) return golden["pre_tokens"].get<std::vector<std::string>>();
  return {golden.value("normalized", golden["text"].get<std::string>())};
}

// The groups' own text, so that numbers keep their spelling.
std::vector<std::string> GroupTexts(const std::string& golden) {
  simdjson::padded_string padded(golden);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  std::vector<std::string> texts;
  EXPECT_EQ(parser.iterate(padded).get(document), simdjson::SUCCESS);
  for (auto group : document["groups"].get_array()) {
    std::string_view text;
    EXPECT_EQ(group.raw_json().get(text), simdjson::SUCCESS);
    texts.emplace_back(text);
  }
  return texts;
}

std::string TokenizerText(const std::string& group, const json& parsed,
                          const std::string& bytes_model) {
  if (parsed.contains("tokenizer_raw")) return parsed["tokenizer_raw"];
  if (parsed["tokenizer"]["model"] == "$bytes") return "{\"model\": " + bytes_model + "}";
  simdjson::padded_string padded(group);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::value tokenizer;
  std::string_view text;
  EXPECT_EQ(parser.iterate(padded).get(document), simdjson::SUCCESS);
  EXPECT_EQ(document["tokenizer"].get(tokenizer), simdjson::SUCCESS);
  EXPECT_EQ(tokenizer.raw_json().get(text), simdjson::SUCCESS);
  return std::string(text);
}

class GoldenModelTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenModelTest, EqualsTheReference) {
  const std::string golden = ReadGolden(std::string(GetParam()) + ".json");
  if (golden.empty()) GTEST_SKIP() << "EASYDATA_SHARED_DIR has no golden tokenizer cases";
  const std::string bytes_model = ReadGolden("bytes_model.json");
  int compared = 0;
  for (const std::string& text : GroupTexts(golden)) {
    const json group = json::parse(text);
    const std::string tokenizer = TokenizerText(text, group, bytes_model);
    const json file = json::parse(tokenizer, nullptr, false);
    if (file.is_discarded() || !OnlyCutsAndEncodes(file)) continue;
    const auto model = ModelFromJson(ModelText(tokenizer));
    if (group.contains("load")) continue;
    ASSERT_TRUE(model.ok()) << group["name"] << ": " << model.status();
    for (const json& one : group["cases"]) {
      if (!one.contains("text") || one.contains("pair")) continue;
      const auto ids = EncodeWords(**model, WordsOf(one, file));
      ++compared;
      if (one.contains("error")) {
        EXPECT_FALSE(ids.has_value()) << group["name"] << " " << one["text"];
      } else {
        ASSERT_TRUE(ids.has_value()) << group["name"] << " " << one["text"];
        EXPECT_EQ(*ids, one["ids"].get<std::vector<int32_t>>()) << group["name"] << one["text"];
      }
    }
  }
  EXPECT_GT(compared, 40);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenModelTest,
                         testing::Values("model", "unicode", "pre_tokenizer", "normalizer",
                                         "combo"));

}  // namespace
}  // namespace easydata
