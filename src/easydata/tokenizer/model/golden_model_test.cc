// The golden cases that show what a model makes of words, with the words as the reference cut them.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/tokenizer/model/model_test_files.h"

namespace easydata {
namespace {

using nlohmann::json;

std::string ReadGolden(const std::string& name) {
  std::ifstream file(EASYDATA_SHARED_DIR "/data/golden/tokenizers/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
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

// The tokenizer.json of a group, in its own spelling where that matters.
std::string TokenizerText(const json& group, const std::string& bytes_model) {
  if (group.contains("tokenizer_raw")) return group["tokenizer_raw"];
  json file = group["tokenizer"];
  if (file["model"] == "$bytes") file["model"] = json::parse(bytes_model);
  return file.dump();
}

class GoldenModelTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenModelTest, EqualsTheReference) {
  const std::string golden = ReadGolden(std::string(GetParam()) + ".json");
  if (golden.empty()) GTEST_SKIP() << "no golden tokenizer cases in " EASYDATA_SHARED_DIR;
  const std::string bytes_model = ReadGolden("bytes_model.json");
  int compared = 0;
  const json parsed = json::parse(golden);
  for (const json& group : parsed["groups"]) {
    const std::string tokenizer = TokenizerText(group, bytes_model);
    const json file = json::parse(tokenizer, nullptr, false);
    if (file.is_discarded() || !OnlyCutsAndEncodes(file)) continue;
    if (group.contains("load")) continue;
    const auto model = ModelFromFile(tokenizer, false);
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
                         testing::Values("model", "unicode", "pre_tokenizer"));

}  // namespace
}  // namespace easydata
