// The golden cases that show what a model makes of words, with the words as the reference cut them.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/recorded_values.h"
#include "tokenizers/model/model_test_files.h"

namespace easydata::tokenizers {
namespace {

using nlohmann::json;

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
std::string TokenizerText(const json& group, const json& bytes_model) {
  if (group.contains("tokenizer_raw")) return group["tokenizer_raw"];
  json file = group["tokenizer"];
  if (file["model"] == "$bytes") file["model"] = bytes_model;
  return file.dump();
}

class RecordedModelTest : public RecordedValuesTest {
 protected:
  void Check(const std::string& component);
};
INSTANTIATE_TEST_SUITE_P(By, RecordedModelTest, BothRecorders(), RecorderName);

TEST_P(RecordedModelTest, EqualsTheReference) {
  for (const char* component : {"model", "unicode", "pre_tokenizer"}) {
    SCOPED_TRACE(component);
    Check(component);
  }
}

void RecordedModelTest::Check(const std::string& component) {
  const json bytes_model = Read("tokenizers/bytes_model.json");
  int compared = 0;
  const json parsed = Read("tokenizers/" + component + ".json");
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
  EXPECT_GT(compared, Own() ? 25 : 40);
}

}  // namespace
}  // namespace easydata::tokenizers
