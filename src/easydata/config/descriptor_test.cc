#include "easydata/config/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace easydata::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Inner {
  static constexpr const char* kName = "Inner";
  static constexpr const char* kDoc = "A part.";
  int64_t size = 3;
  static FieldList Fields() {
    return {Field{"size", &Inner::size, "Its size."}.AtLeast(1).AtMost(9)};
  }
};

struct Outer {
  static constexpr const char* kName = "Outer";
  static constexpr const char* kDoc = "A whole.";
  std::string path;
  std::string mode = "fast";
  double rate = 0.5;
  std::optional<int64_t> limit;
  Named<double> weights;
  Inner inner;
  std::variant<std::string, Inner> either = "x";
  bool flag = false;

  static FieldList Fields() {
    return {
        Field{"path", &Outer::path, "Where."}.Required(),
        Field{"mode", &Outer::mode, "How."}
            .OneOf({"fast", "slow", "magic"})
            .Refuse("magic", "magic comes later"),
        Field{"rate", &Outer::rate, "How much."}.MoreThan(0),
        Field{"limit", &Outer::limit, "At most."}.AtLeast(1),
        Field{"weights", &Outer::weights, "Shares."},
        Field{"inner", &Outer::inner, "The part."},
        Field{"either", &Outer::either, "One or the other."},
        Field{"flag", &Outer::flag, "A switch."}.OnlyDefault("switches come later"),
    };
  }

  void Check(const std::string& path, Problems* problems) const {
    if (limit && *limit > inner.size) {
      problems->push_back(
          {Problem::Kind::kValue, JoinPath(path, "limit"), "must not be more than inner.size"});
    }
  }
};

std::vector<std::string> ProblemsOf(const std::string& text) {
  Problems problems;
  Describe<Outer>().check(Json::parse(text), "", &problems);
  std::vector<std::string> out;
  for (const Problem& problem : problems) out.push_back(problem.ToString());
  return out;
}

TEST(Descriptor, TypesAndDefaultsComeFromTheStruct) {
  const ConfigDescriptor d = Describe<Outer>();
  EXPECT_THAT(d.field_names(),
              ElementsAre("path", "mode", "rate", "limit", "weights", "inner", "either", "flag"));
  EXPECT_EQ(d.fields[1].type, "Literal[\"fast\", \"slow\", \"magic\"]");
  EXPECT_EQ(d.fields[1].default_value, "fast");
  EXPECT_EQ(d.fields[3].type, "int | None");
  EXPECT_TRUE(d.fields[3].default_value.is_null());
  EXPECT_EQ(d.fields[4].type, "dict[str, float]");
  EXPECT_EQ(d.fields[5].config, "Inner");
  EXPECT_EQ(d.fields[5].default_value, Json({{"size", 3}}));
  EXPECT_EQ(d.fields[6].type, "str | Inner");
}

struct Whole {
  static constexpr const char* kName = "Whole";
  static constexpr const char* kDoc = "Composed of a part.";
  static constexpr const char* kFirst[] = {"mode"};
  std::string size = "large";
  Inner inner;
  Outer outer;

  static FieldList Fields() {
    return Joined({{Field{"size", &Whole::size, "Hides the part's."}},
                   FieldsOf(&Whole::inner),
                   FieldsOf(&Whole::outer)});
  }
};

TEST(Descriptor, TheOptionsOfPartsAreThoseOfTheWhole) {
  const ConfigDescriptor d = Describe<Whole>();
  EXPECT_THAT(d.field_names(), ElementsAre("mode", "size", "path", "rate", "limit", "weights",
                                           "inner", "either", "flag"));
  auto config = FromJson<Whole>(Json::parse(R"({"size": "x", "path": "a", "rate": 2})"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->size, "x");
  EXPECT_EQ(config->inner.size, 3);
  EXPECT_EQ(config->outer.path, "a");
  EXPECT_EQ(config->outer.rate, 2);
}

TEST(Descriptor, OptionsSayWhenTheyAct) {
  const FieldList fields = ActingAt(
      {"whole"}, Changed(Outer::Fields(), "rate", [](const Field& field) {
        return field.ActsAt({"part"}).Beside("mode", {"fast", "slow"}).SupersededBy("limit");
      }));
  for (const Field& field : fields) {
    const bool is_rate = std::string(field.name) == "rate";
    EXPECT_THAT(field.rules.acting.nodes, ElementsAre(is_rate ? "part" : "whole"));
    EXPECT_EQ(field.rules.comes_later(), std::string(field.name) == "flag") << field.name;
  }
  const Acting acting = Chosen(fields, {"rate"})[0].rules.acting;
  EXPECT_EQ(acting.beside[0].option, "mode");
  EXPECT_THAT(acting.beside[0].values, ElementsAre("fast", "slow"));
  EXPECT_EQ(acting.superseded_by[0].option, "limit");
  EXPECT_TRUE(acting.superseded_by[0].values.empty());
  EXPECT_EQ(fields[0].ForCompatibility("it was there").rules.acting.compatibility, "it was there");
  EXPECT_THROW(Chosen(fields, {"rates"}), std::logic_error);
}

struct Foreign {
  static constexpr const char* kName = "Foreign";
  static constexpr const char* kDoc = "Declares an option of another struct.";
  Inner inner;
  static FieldList Fields() { return {Field{"size", &Inner::size, "Its size."}}; }
};

TEST(Descriptor, AnOptionOfAnotherStructIsRefused) {
  EXPECT_THROW(Describe<Foreign>(), std::logic_error);
  EXPECT_THROW(FieldsOf(&Foreign::inner, {Field{"mode", &Outer::mode, "How."}}), std::logic_error);
}

TEST(Descriptor, ASoundConfigHasNoProblems) {
  EXPECT_THAT(
      ProblemsOf(
          R"({"path": "a", "rate": 1, "limit": null, "inner": {"size": 9}, "either": {"size": 1}})"),
      ElementsAre());
}

TEST(Descriptor, EveryProblemIsListedAtOnce) {
  EXPECT_THAT(
      ProblemsOf(
          R"({"mod": 1, "mode": "fats", "rate": 0, "limit": 2.5, "inner": {"size": 10, "sizes": 1},
                             "either": 3, "flag": "yes", "weights": {"a": "b"}})"),
      ElementsAre(
          "mod is not an option; did you mean \"mode\"?", "path is required",
          "mode must be one of \"fast\", \"slow\", \"magic\", not \"fats\"; did you mean \"fast\"?",
          "rate must be more than 0, not 0", "limit must be a whole number, or nothing, not 2.5",
          "weights[\"a\"] must be a number, not \"b\"",
          "inner.sizes is not an option; did you mean \"size\"?",
          "inner.size must be at most 9, not 10",
          "either must be text or the options of a Inner, not 3",
          "flag must be true or false, not \"yes\""));
}

TEST(Descriptor, WhatComesLaterIsRefusedWithASentence) {
  EXPECT_THAT(ProblemsOf(R"({"path": "a", "mode": "magic", "flag": true})"),
              ElementsAre("mode = \"magic\" is not supported yet: magic comes later",
                          "flag = true is not supported yet: switches come later"));
  auto later = FromJson<Outer>(Json::parse(R"({"path": "a", "flag": true})"));
  EXPECT_TRUE(later.status().IsNotImplemented());
  auto mixed = FromJson<Outer>(Json::parse(R"({"flag": true})"));
  EXPECT_TRUE(mixed.status().IsInvalid());
  EXPECT_THAT(mixed.status().message(), HasSubstr("Outer: path is required; flag = true"));
}

TEST(Descriptor, RulesThatSpanOptionsAreChecked) {
  EXPECT_THAT(ProblemsOf(R"({"path": "a", "limit": 4})"),
              ElementsAre("limit must not be more than inner.size"));
}

TEST(Descriptor, JsonGoesInAndOutUnchanged) {
  const Json json = Json::parse(
      R"({"path": "a", "mode": "slow", "rate": 0.25, "limit": 2, "weights": {"z": 0.5, "a": 0.5},
          "inner": {"size": 4}, "either": {"size": 2}, "flag": false})");
  auto config = FromJson<Outer>(json);
  ASSERT_TRUE(config.ok()) << config.status();
  // The order of names is kept: "z" before "a".
  EXPECT_EQ(WriteConfig(*config).dump(), json.dump());
}

TEST(Descriptor, ANestedConfigGivenAsNullIsOneNotGiven) {
  EXPECT_THAT(ProblemsOf(R"({"path": "a", "inner": null})"), ElementsAre());
}

}  // namespace
}  // namespace easydata::config
