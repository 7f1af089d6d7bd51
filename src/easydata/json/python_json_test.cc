#include "easydata/json/python_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/base/recorded_values.h"
#include "easydata/json/json_parse.h"
#include "easydata/json/json_text.h"

namespace easydata::json {
namespace {

using Recorded = nlohmann::json;

/// Compares with Python's json module (tests/data/record_json.py).
class PythonJsonTest : public RecordedValuesTest {
 protected:
  void SetUp() override { recorded_ = Read("json.json"); }

  /// What kind of JSON a text is; "" for none, with what is wrong in `fault_`.
  std::string KindOf(std::string_view text) {
    std::string kind;
    members_.clear();
    fault_ = {};
    return ReadPythonJson(text, &kind, &members_, &fault_) ? kind : "";
  }

  Recorded recorded_;
  std::vector<JsonMember> members_;
  JsonFault fault_;
};

TEST_P(PythonJsonTest, TakesWhatPythonTakes) {
  for (const Recorded& each : recorded_["texts"]) {
    const auto text = each[0].get<std::string>();
    const std::string kind = each[1].is_null() ? "" : each[1].get<std::string>();
    EXPECT_EQ(KindOf(text), kind) << text;
    if (kind.empty()) {
      EXPECT_FALSE(fault_.message.empty()) << text;
      EXPECT_LE(fault_.position, text.size()) << text;
      continue;
    }
    const std::vector<JsonMember> members = members_;
    ASSERT_EQ(members.size(), each[2].size()) << text;
    for (size_t i = 0; i < members.size(); ++i) {
      EXPECT_EQ(members[i].key, each[2][i][0].get<std::string>()) << text;
      EXPECT_EQ(KindOf(members[i].raw), each[2][i][1].get<std::string>()) << text;
    }
  }
}

/// The fast parser takes what Python takes, but for what has no place in UTF-8 or 64 bits.
TEST_P(PythonJsonTest, TheFastParserTakesNothingElse) {
  JsonParser parser;
  size_t taken = 0;
  for (const Recorded& each : recorded_["texts"]) {
    const auto text = each[0].get<std::string>();
    if (!parser.Parse(text).ok()) continue;
    EXPECT_FALSE(each[1].is_null()) << text;
    ++taken;
  }
  EXPECT_GT(taken, 80U);
}

TEST_P(PythonJsonTest, StringsReadBack) {
  for (const Recorded& each : recorded_["strings"]) {
    const auto text = each[0].get<std::string>();
    std::string written;
    AppendJsonString(text, &written);
    for (const std::string& json : {written, each[1].get<std::string>()}) {
      EXPECT_EQ(KindOf(json), "string") << json;
      std::string read;
      EXPECT_TRUE(UnescapeJsonString(json, &read)) << json;
      EXPECT_EQ(read, text);
    }
  }
  std::string read;
  EXPECT_FALSE(UnescapeJsonString(R"("\ud83d")", &read)) << "a lone surrogate is no UTF-8";
}

TEST_P(PythonJsonTest, FindsTheFirstByteThatIsNoUtf8) {
  for (const Recorded& each : recorded_["bytes"]) {
    const auto digits = each[0].get<std::string>();
    std::string bytes;
    for (size_t i = 0; i < digits.size(); i += 2) {
      bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    }
    EXPECT_EQ(FirstBadUtf8Byte(bytes), each[1].get<size_t>()) << digits;
  }
}

TEST_P(PythonJsonTest, DepthIsBounded) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += open;
    EXPECT_EQ(KindOf(text), "");
    JsonParser parser;
    EXPECT_TRUE(parser.Parse(text).status().IsInvalid());
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, PythonJsonTest, testing::Values(Recorder::kOwn), RecorderName);

}  // namespace
}  // namespace easydata::json
