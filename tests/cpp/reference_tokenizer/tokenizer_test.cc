#include "reference_tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "easydata/base/recorded_values.h"

namespace easydata::tokenizers::reference {
namespace {

using nlohmann::json;

json OverflowOf(const Encoding& encoding) {
  json overflow = json::array();
  for (const Encoding& part : encoding.overflow) overflow.push_back(part.ids);
  return overflow;
}

class RecordedTest : public RecordedValuesTest {
 protected:
  void Check(const std::string& component);
};
INSTANTIATE_TEST_SUITE_P(By, RecordedTest, BothRecorders(), RecorderName);

// The reference implementation is itself held against what the library was recorded to do.
TEST_P(RecordedTest, DoesAsTheLibrary) {
  for (const char* component :
       {"normalizer", "pre_tokenizer", "model", "added_tokens", "post_processor", "truncation",
        "padding", "unicode", "loader", "combo"}) {
    SCOPED_TRACE(component);
    Check(component);
  }
}

void RecordedTest::Check(const std::string& component) {
  const json bytes_model = Read("tokenizers/bytes_model.json");
  const json file = Read("tokenizers/" + component + ".json");
  int compared = 0;
  for (const json& group : file.at("groups")) {
    std::string text;
    if (group.contains("tokenizer_raw")) {
      text = group["tokenizer_raw"];
    } else {
      json tokenizer = group.at("tokenizer");
      if (tokenizer["model"] == "$bytes") tokenizer["model"] = bytes_model;
      text = tokenizer.dump();
    }
    SCOPED_TRACE(group.at("name").get<std::string>());
    const auto reference = Tokenizer::FromJson(text);
    if (group.contains("load")) continue;  // what is refused is for the loaders to know
    ASSERT_TRUE(reference.ok()) << reference.status();
    for (const json& test : group.at("cases")) {
      SCOPED_TRACE(test.dump().substr(0, 600));
      const auto same = [&](const Encoding& encoding, const json& expected) {
        EXPECT_EQ(json(encoding.ids), expected.at("ids"));
        if (expected.contains("overflow")) {
          EXPECT_EQ(OverflowOf(encoding), expected["overflow"]);
        }
        ++compared;
      };
      if (test.contains("batch")) {
        std::vector<std::pair<std::string, std::optional<std::string>>> batch;
        for (const json& item : test["batch"]) {
          if (item.is_string()) {
            batch.emplace_back(item.get<std::string>(), std::nullopt);
          } else {
            batch.emplace_back(item.at(0).get<std::string>(), item.at(1).get<std::string>());
          }
        }
        const auto encodings = (*reference)->EncodeBatch(batch, test.value("special", true));
        ASSERT_EQ(encodings.ok(), !test.contains("error")) << encodings.status();
        if (!encodings.ok()) continue;
        for (size_t i = 0; i < batch.size(); ++i) same((*encodings)[i], test["encodings"][i]);
        continue;
      }
      if (!test.contains("text")) continue;  // it does not decode
      std::optional<std::string> pair;
      if (test.contains("pair") && !test["pair"].is_null()) pair = test["pair"].get<std::string>();
      const auto encoding = (*reference)->Encode(test["text"], pair, test.value("special", true));
      if (test.contains("error")) {
        EXPECT_TRUE(encoding.status().IsInvalid()) << encoding.status();
      } else if (encoding.ok()) {
        same(*encoding, test);
      } else {
        ADD_FAILURE() << encoding.status();
      }
    }
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace easydata::tokenizers::reference
