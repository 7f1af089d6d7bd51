#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/recorded_values.h"
#include "easydata/jinja/template.h"

namespace easydata::jinja {
namespace {

using Json = nlohmann::ordered_json;

Value ValueOf(const Json& json, Arena* arena) {
  if (json.is_boolean()) return Value::Boolean(json.get<bool>());
  if (json.is_number_integer()) return Value::Integer(json.get<int64_t>());
  if (json.is_number()) return Value::Float(json.get<double>());
  if (json.is_string()) return Value::String(json.get_ref<const std::string&>());
  if (json.is_array()) {
    auto* items = arena->Array<Value>(json.size());
    for (size_t i = 0; i < json.size(); ++i) items[i] = ValueOf(json[i], arena);
    return Value::List(items, json.size());
  }
  if (!json.is_object()) return Value::None();
  auto* entries = arena->Array<DictEntry>(json.size());
  size_t count = 0;
  for (const auto& [key, value] : json.items()) {
    entries[count++] = {Value::String(arena->Copy(key)), ValueOf(value, arena)};
  }
  return Value::Dict(entries, count);
}

/// Compares with what Jinja2 made of templates (tests/data/record_templates.py).
class RecordedTemplatesTest : public RecordedValuesTest {
 protected:
  void SetUp() override { recorded_ = Json::parse(std::ifstream(Folder() / "templates.json")); }

  Status Render(const std::string& source, bool trace) {
    const auto compiled = Template::Compile(source);
    if (!compiled.ok()) return compiled.status();
    renderer_.Reset();
    std::vector<Renderer::Variable> variables;
    for (const auto& [name, json] : recorded_["variables"].items()) {
      Value value = ValueOf(json, &renderer_.arena());
      if (trace && name == "messages")
        value = MarkMessages(value, {}, &renderer_.arena(), Value::kOther);
      variables.push_back({renderer_.arena().Copy(name), value});
    }
    RenderOptions options;
    options.trace = trace;
    return renderer_.Render(**compiled, variables, options);
  }

  /// Renders without and with a trace. `expected`: none where Jinja2 has no text.
  void Compare(const std::string& source, const std::optional<std::string>& expected) {
    for (const bool trace : {false, true}) {
      const Status status = Render(source, trace);
      if (status.IsNotImplemented()) {
        if (!trace) outside_.push_back(source + ": " + status.message());
        continue;
      }
      if (expected.has_value()) {
        EXPECT_EQ(status.ok() ? renderer_.text() : status.ToString(), *expected) << source;
      } else {
        EXPECT_TRUE(status.IsInvalid()) << source << ": " << renderer_.text();
        EXPECT_FALSE(status.message().empty()) << source;
      }
    }
  }

  void CompareAll(const char* name) {
    for (const Json& each : recorded_[name]) {
      Compare(each[0].get<std::string>(),
              each[1].is_null() ? std::nullopt : std::optional(each[1].get<std::string>()));
    }
  }

  Json recorded_;
  Renderer renderer_;
  /// What our engine leaves to Jinja2, and why.
  std::vector<std::string> outside_;
};

TEST_P(RecordedTemplatesTest, WhatJinjaDocuments) {
  CompareAll("documented");
  EXPECT_LE(outside_.size(), 36)  // of 657
      << ::testing::PrintToString(outside_);
}

TEST_P(RecordedTemplatesTest, Pitfalls) {
  CompareAll("pitfalls");
  EXPECT_LE(outside_.size(), recorded_["pitfalls"].size() / 5);
}

TEST_P(RecordedTemplatesTest, OperatorsOfAllPairs) {
  const Json& values = recorded_["values"];
  size_t renders = 0;
  for (const Json& pairs : recorded_["pairs"]) {
    const auto operation = pairs[0].get<std::string>();
    size_t i = 0;
    for (const Json& one : values) {
      for (const Json& other : values) {
        const Json& text = pairs[1][i++];
        const std::string source = "{{ " + one.get<std::string>() + " " + operation + " " +
                                   other.get<std::string>() + " }}";
        Compare(source, text.is_null() ? std::nullopt : std::optional(text.get<std::string>()));
        ++renders;
      }
    }
    ASSERT_EQ(i, pairs[1].size());
  }
  EXPECT_LE(outside_.size(), renders / 5);
}

INSTANTIATE_TEST_SUITE_P(Recorded, RecordedTemplatesTest, testing::Values(Recorder::kOwn),
                         RecorderName);

}  // namespace
}  // namespace easydata::jinja
