#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <functional>
#include <string>

#include "easydata/jinja/template.h"

namespace easydata::jinja {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Sanitizers make frames larger, and take their time.
#ifdef EASYDATA_SANITIZED
constexpr size_t kStack = size_t{4} << 20;
constexpr double kMostSeconds = 60;
#else
constexpr size_t kStack = size_t{256} << 10;
constexpr double kMostSeconds = 15;
#endif

/// Runs a function in a thread with a small stack.
void RunOnSmallStack(std::function<void()> function) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  pthread_t thread;
  const auto run = [](void* given) -> void* {
    (*static_cast<std::function<void()>*>(given))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &function), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

std::string Repeated(const char* text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

/// What can be nested: `begin`, then n times `open`, `inside`, n times `close`, `end`.
struct Nested {
  const char* name;
  const char* begin;
  const char* open;
  const char* inside;
  const char* close;
  const char* end;
  /// How many levels there may be at least: what Jinja2 renders where that is less than twice as
  /// many.
  int least;

  std::string Source(int count) const {
    return begin + Repeated(open, count) + inside + Repeated(close, count) + end;
  }
};

const Nested kNested[] = {
    {"brackets", "{{ ", "(", "1", ")", " }}", 79},
    {"tuples", "{{ ", "(", "1", ",)", " }}", 79},
    {"lists", "{{ ", "[", "", "]", " }}", 79},
    {"dicts", "{{ ", "{1: ", "1", "}", " }}", 79},
    {"arguments", "{{ ", "x(", "1", ")", " }}", 79},
    {"keywords", "{{ ", "dict(a=", "1", ")", " }}", 79},
    {"arguments of filters", "{{ ", "1|default(", "1", ")", " }}", 79},
    {"arguments of tests", "{{ ", "1 is eq(", "1", ")", " }}", 79},
    {"arguments of methods", "{{ ", "'a'.split(", "'a'", ")", " }}", 79},
    {"items", "{{ ", "messages[", "0", "]", " }}", 79},
    {"slices", "{{ ", "messages[1:", "0", "]", " }}", 79},
    {"brackets of all kinds", "{{ ", "([{1: -", "1", "}])", " }}", 20},
    {"not", "{{ ", "not ", "1", "", " }}", 198},
    {"minus", "{{ ", "- ", "1", "", " }}", 198},
    {"conditions", "{{ ", "1 if 0 else ", "2", "", " }}", 198},
    {"conditions without else", "{{ ", "", "1", " if 1", " }}", 199},
    {"or", "{{ ", "", "1", " or 1", " }}", 199},
    {"and", "{{ ", "", "1", " and 1", " }}", 199},
    {"plus", "{{ - (", "", "1", " + 1", ") }}", 198},
    {"times", "{{ ", "", "1", " * 1", " }}", 199},
    {"power", "{{ ", "", "1", " ** 1", " }}", 199},
    {"attributes", "{{ ", "", "x", ".a", " }}", 199},
    {"subscripts", "{{ ", "", "x", "[0]", " }}", 199},
    {"calls", "{{ ", "", "x", "()", " }}", 199},
    {"filters", "{{ ", "", "'x'", "|trim", " }}", 199},
    {"tests", "{{ ", "(", "1", " is defined)", " }}", 79},
    {"tests with not", "{{ ", "(", "1", " is not defined)", " }}", 79},
    {"if", "", "{% if 1 %}", "x", "{% endif %}", "", 131},
    {"for", "", "{% for i in [1] %}", "x", "{% endfor %}", "", 131},
    {"set blocks", "", "{% set a %}", "x", "{% endset %}", "", 131},
    {"generation", "", "{% generation %}", "x", "{% endgeneration %}", "", 131},
};

class NestingTest : public ::testing::TestWithParam<Nested> {};

TEST_P(NestingTest, HasABoundThatASmallStackHolds) {
  const Nested& nested = GetParam();
  RunOnSmallStack([&] {
    int most = 1;
    for (int step = 1 << 9; step > 0; step /= 2) {
      if (Template::Compile(nested.Source(most + step)).ok()) most += step;
    }
    EXPECT_GE(most, nested.least);
    EXPECT_LT(most, 400);
    const auto compiled = Template::Compile(nested.Source(most)).ValueOrDie();
    Renderer renderer;
    // It comes to an end, be it an error.
    const Status rendered = renderer.Render(*compiled, {}, {});
    EXPECT_TRUE(rendered.ok() || rendered.IsInvalid() || rendered.IsNotImplemented()) << rendered;
    for (const int count : {most + 1, 1000, 50'000}) {
      const Status error = Template::Compile(nested.Source(count)).status();
      EXPECT_TRUE(error.IsInvalid()) << error;
      EXPECT_THAT(error.message(), AllOf(HasSubstr("line 1: "), HasSubstr("nested too deep"),
                                         HasSubstr("more than 80 brackets")));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, NestingTest, ::testing::ValuesIn(kNested), [](const auto& info) {
  std::string name = info.param.name;
  std::erase(name, ' ');
  return name;
});

TEST(NestingTest, SomeIsLeftToJinja2WhereThereIsMuch) {
  const auto source = [](int count) {
    return "{% if 0 %}" + Repeated("{% elif 0 %}", count) + "{% endif %}";
  };
  RunOnSmallStack([&] {
    EXPECT_TRUE(Template::Compile(source(100)).ok());
    EXPECT_TRUE(Template::Compile(source(200)).status().IsNotImplemented());
    EXPECT_TRUE(Template::Compile(source(100'000)).status().IsNotImplemented());
    const std::string targets = "{% for " + Repeated("(", 100'000) + "a, b" +
                                Repeated(")", 100'000) + " in [] %}{% endfor %}";
    EXPECT_TRUE(Template::Compile(targets).status().IsNotImplemented());
  });
}

TEST(NestingTest, ManyNamesTakeTimeByTheirNumber) {
  const auto numbered = [](const std::string& before, const std::string& each,
                           const std::string& after) {
    std::string source = before;
    for (int i = 0; i < 30'000; ++i) {
      for (const char c : each) source += c == '#' ? std::to_string(i) : std::string(1, c);
    }
    return source + after;
  };
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& source :
       {numbered("", "{% set v# = 1 %}", ""), numbered("", "{{ v# }}", ""),
        numbered("{% macro f(a", ", a#", ") %}{% endmacro %}"),
        numbered("{{ f(a=1", ", a#=1", ") }}"),
        numbered("{% for a", ", a#", " in [] %}{% endfor %}"),
        numbered("", "{% if x %}{% set v# = 1 %}{% else %}{% set w# = 1 %}{% endif %}", "")}) {
    EXPECT_TRUE(Template::Compile(source).ok()) << source.substr(0, 40);
  }
  // By the square of their number it was 60 s, without sanitizers.
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), kMostSeconds);
}

TEST(NestingTest, WhatRunsHasBoundsToo) {
  const std::string deep =
      "{% set ns = namespace(l=[], k=[]) %}{% for i in range(1000) %}"
      "{% set ns.l = [ns.l] %}{% set ns.k = [ns.k] %}{% endfor %}";
  for (const std::string& source :
       {deep + "{{ ns.l }}", deep + "{{ ns.l|tojson }}", deep + "{{ ns.l == ns.k }}",
        deep + "{{ ns.l < ns.k }}",
        std::string("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}")}) {
    RunOnSmallStack([&] {
      Renderer renderer;
      const Status status = renderer.Render(*Template::Compile(source).ValueOrDie(), {}, {});
      EXPECT_THAT(status.message(), HasSubstr("more than 200 deep")) << source;
    });
  }
}

}  // namespace
}  // namespace easydata::jinja
