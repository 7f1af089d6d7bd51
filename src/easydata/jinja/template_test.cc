#include "easydata/jinja/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "easydata/exec/stop_scope.h"

namespace easydata::jinja {
namespace {

using ::testing::HasSubstr;

/// Renders with the messages `user: hi` and `assistant: yo`, and with x = 5.
class TemplateTest : public ::testing::Test {
 protected:
  Status Try(std::string_view source, RenderOptions options = {}) {
    auto compiled = Template::Compile(source);
    if (!compiled.ok()) return compiled.status();
    renderer_.Reset();
    Arena* arena = &renderer_.arena();
    const auto message = [&](std::string_view role, std::string_view content) {
      auto* entries = arena->Array<DictEntry>(2);
      entries[0] = {Value::String("role"), Value::String(role)};
      entries[1] = {Value::String("content"), Value::String(content)};
      return Value::Dict(entries, 2);
    };
    auto* items = arena->Array<Value>(2);
    items[0] = message("user", "hi");
    items[1] = message("assistant", "yo");
    const std::vector<Renderer::Variable> variables = {
        {"messages", MarkMessages(Value::List(items, 2), {}, arena, Value::kOther)},
        {"x", Value::Integer(5)}};
    return renderer_.Render(**compiled, variables, options);
  }

  std::string Text(std::string_view source) {
    const Status status = Try(source);
    return status.ok() ? renderer_.text() : status.ToString();
  }

  Renderer renderer_;
};

TEST(CompileTest, TextThatIsNotUtf8IsRefused) {
  for (const char* source : {"{% set \xff", "a\xc3", "{{ 'x' ~ \xf0\x9f", "\xed\xa0\x80"}) {
    EXPECT_EQ(Template::Compile(source).status().message(), "the template is not UTF-8") << source;
  }
}

TEST_F(TemplateTest, AGiantRenderingLeavesNoMemoryBehind) {
  const std::string giant =
      "{% set ns = namespace(l=[]) %}{% for i in range(40000) %}{% set ns.l = ns.l + ['abcdefgh'] "
      "%}{{ 'abcdefgh' * 100 }}{% endfor %}";
  EXPECT_THAT(Text(giant), HasSubstr("more than 256 MB"));
  EXPECT_GT(renderer_.bytes_held(), size_t{200} << 20);
  EXPECT_GT(renderer_.text().capacity(), size_t{2} << 20);
  renderer_.Shrink();
  EXPECT_LT(renderer_.bytes_held(), size_t{4} << 20);
  EXPECT_EQ(Text("{{ x }}"), "5");
}

TEST_F(TemplateTest, PrintsValuesAsPythonDoes) {
  EXPECT_EQ(Text("{{ none }} {{ true }} {{ 1.0 }} {{ 1e16 }} {{ 'a' }} {{ missing }}|"),
            "None True 1.0 1e+16 a |");
  EXPECT_EQ(Text("{{ ['a', 1, none, \"it's\"] }} {{ (1,) }} {{ {'k': 0.1} }}"),
            "['a', 1, None, \"it's\"] (1,) {'k': 0.1}");
  EXPECT_EQ(Text("{{ {'é': [1.0, none, '<']} | tojson }}"), "{\"é\": [1.0, null, \"<\"]}");
  EXPECT_EQ(Text("{{ [1, {'a': []}] | tojson(indent=2) }}"), "[\n  1,\n  {\n    \"a\": []\n  }\n]");
}

TEST_F(TemplateTest, WhiteSpaceAroundTagsGoesAsItIsAsked) {
  EXPECT_EQ(Text("a\n  {% if true %}\n b\n  {%- endif %}\nc\n"), "a\n bc");
  EXPECT_EQ(Text("{{- 'a' -}}  \n b {# c #}\nd"), "ab d");
  EXPECT_EQ(Text("a {%+ if true %} b{% endif %}"), "a  b");
  EXPECT_EQ(Text("{% raw %}{{ x }}{% endraw %}"), "{{ x }}");
}

TEST_F(TemplateTest, WhatALoopSetsEndsWithItsTurn) {
  EXPECT_EQ(
      Text("{% set n = 0 %}{% for m in messages %}{% set n = n + 1 %}{{ n }}{% endfor %}{{ n }}"),
      "110");
  EXPECT_EQ(Text("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
                 "{% endfor %}{{ ns.n }}"),
            "2");
  EXPECT_EQ(Text("{% for m in messages %}{{ loop.index }}{{ loop.last }}{{ loop.previtem.role if "
                 "not loop.first }} "
                 "{% endfor %}"),
            "1False 2Trueuser ");
  EXPECT_EQ(Text("{% for i in range(9) if i is odd %}{% if i == 7 %}{% break %}{% endif %}{{ i }}"
                 "{{ loop.index }}{% else %}none{% endfor %}"),
            "113253");
  EXPECT_EQ(
      Text(
          "{% for i in range(9) if i is odd %}{{ i }}{{ loop.length }}{{ loop.last }}{% endfor %}"),
      "14False34False54False74True");
}

TEST_F(TemplateTest, ALoopsOwnNameMayBeSetInABranch) {
  EXPECT_EQ(
      Text("{% for m in messages %}{% if m.role == 'user' %}{% set m = m.content %}{% endif %}"
           "{{ m }} {% endfor %}"),
      "hi {'role': 'assistant', 'content': 'yo'} ");
}

TEST_F(TemplateTest, MacrosHaveDefaultsAndNamesOfTheirOwn) {
  EXPECT_EQ(
      Text("{% macro f(a, b='-') %}{% set x = a %}{{ x ~ b }}{% endmacro %}{{ f(1) }}{{ f(2, b=3)"
           " }}{{ x }}"),
      "1-235");
  EXPECT_THAT(Try("{% macro f(a) %}{{ f(a) }}{% endmacro %}{{ f(1) }}").ToString(),
              HasSubstr("more than 200 deep"));
}

TEST_F(TemplateTest, ErrorsNameTheLine) {
  EXPECT_EQ(Try("a\n{{ raise_exception('no ' ~ x) }}").message(), "line 2: no 5");
  EXPECT_EQ(Try("{{ y.z }}").message(), "line 1: 'y' is undefined");
  EXPECT_EQ(Try("{{ messages[0].z.z }}").message(), "line 1: 'dict object' has no attribute 'z'");
  EXPECT_THAT(Try("{{ 'a' + 1 }}").message(), HasSubstr("TypeError: unsupported operand"));
  EXPECT_TRUE(Try("{% if %}").IsInvalid());
  EXPECT_TRUE(Try("{% include 'a' %}").IsNotImplemented());
  EXPECT_TRUE(Try("{{ x | wordwrap }}").IsNotImplemented());
  EXPECT_TRUE(Try("{{ messages[0].clear() }}").IsInvalid());
}

TEST_F(TemplateTest, NoNameIsEmptyOrHasABlank) {
  EXPECT_EQ(Text("{{ 'a'[''] }}{{ [1][''] }}{{ {}[''] }}{{ x[''] }}|"), "|");
  EXPECT_EQ(Text("{{ 'a'[' encode '] }}{{ [1][' append'] }}{{ {}['pop '] }}{{ (1,)[' '] }}|"), "|");
  EXPECT_EQ(Text("{{ messages | selectattr('') | list }}"), "[]");
  EXPECT_EQ(Text("{{ [{'': 1}] | map(attribute='') | list }}"), "[1]");
}

TEST_F(TemplateTest, MarksSayWhatTheTextComesFrom) {
  RenderOptions options;
  options.trace = true;
  ASSERT_TRUE(
      Try("{% for m in messages %}<{{ m.role }}>{{ m.content | trim }};{% endfor %}", options)
          .ok());
  EXPECT_EQ(renderer_.text(), "<user>hi;<assistant>yo;");
  constexpr uint8_t kOther = Value::kOther;
  const std::vector<Mark> plain = {
      {Mark::Kind::kText, 0, 1, 5, kOther},   {Mark::Kind::kText, 0, 6, 8, kOther},
      {Mark::Kind::kMessage, 0, 0, 9},        {Mark::Kind::kText, 1, 10, 19, kOther},
      {Mark::Kind::kText, 1, 20, 22, kOther}, {Mark::Kind::kMessage, 1, 9, 23}};
  EXPECT_EQ(renderer_.marks(), plain);
}

TEST_F(TemplateTest, MarksGoThroughMacrosAndBlocks) {
  RenderOptions options;
  options.trace = true;
  ASSERT_TRUE(
      Try("{% macro say(m) %}[{% generation %}{{ m.content }}{% endgeneration %}]{% endmacro %}"
          "{% for m in messages %}{% set t %}{{ say(m) ~ '!' }}{% endset %}{{ t }}{% endfor %}",
          options)
          .ok());
  EXPECT_EQ(renderer_.text(), "[hi]![yo]!");
  std::vector<Mark> generations;
  for (const Mark& mark : renderer_.marks()) {
    if (mark.kind == Mark::Kind::kGeneration) generations.push_back(mark);
  }
  const std::vector<Mark> expected = {{Mark::Kind::kGeneration, Mark::kUnknown, 1, 3},
                                      {Mark::Kind::kGeneration, Mark::kUnknown, 6, 8}};
  EXPECT_EQ(generations, expected);
}

TEST_F(TemplateTest, ForeignCodeIsBounded) {
  EXPECT_THAT(Try("{{ range(1000000) }}").message(), HasSubstr("MAX_RANGE"));
  EXPECT_TRUE(Try("{{ 'a' * 1000000000 }}").IsInvalid());
  EXPECT_TRUE(Try("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}")
                  .IsInvalid());
  EXPECT_THAT(
      Try("{% set t = 'a' * 100000 %}{% for i in range(99999) %}{{ t }}{% endfor %}").message(),
      HasSubstr("longer than 64 MB"));
  EXPECT_TRUE(
      Try("{% set ns = namespace(t='ab') %}{% for i in range(99) %}{% set ns.t = ns.t + ns.t "
          "%}{% endfor %}")
          .IsInvalid());
  const std::string deep =
      "{{ " + std::string(10'000, '(') + "1" + std::string(10'000, ')') + " }}";
  EXPECT_TRUE(Try(deep).IsInvalid());
}

TEST_F(TemplateTest, AStopEndsARendering) {
  const std::atomic<bool> stop = true;
  const exec::StopScope scope(&stop);
  EXPECT_TRUE(Try("{% for i in range(99999) %}{% for j in range(999) %}{% endfor %}{% endfor %}")
                  .IsCancelled());
}

}  // namespace
}  // namespace easydata::jinja
