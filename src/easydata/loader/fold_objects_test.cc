#include "easydata/loader/fold_objects.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace easydata::loader {
namespace {

nlohmann::json Unfolded(const nlohmann::json& folded) {
  const auto value = UnfoldObjects(folded);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? *value : nlohmann::json();
}

TEST(FoldObjectsTest, KeysOfOneShapeStandThereOnce) {
  const nlohmann::json value = {{"a", {{"x", 1}, {"y", {{"z", 2}}}}},
                                {"b", {{"x", 3}, {"y", {{"z", {4, 5}}}}}},
                                {"c", 5},
                                {"d", {{"x", 1}}}};
  const nlohmann::json folded = FoldObjects(value);
  EXPECT_EQ(folded, nlohmann::json::parse(R"({"c": 5, "d": {"x": 1}, "<folded>": [
      {"names": ["a", "b"], "each": {"x": [1, 3], "y": {"z": [2, [4, 5]]}}}]})"));
  EXPECT_EQ(Unfolded(folded), value);
}

TEST(FoldObjectsTest, OfManyOnlyTheValuesTakeRoom) {
  nlohmann::json value = nlohmann::json::object();
  for (int i = 0; i < 16; ++i) {
    value["source" + std::to_string(i)] = {
        {"pass", i}, {"upstream", {{"block", i * i}, {"group", 0}}}, {"used", 7}};
  }
  const nlohmann::json folded = FoldObjects(value);
  EXPECT_LT(folded.dump().size(), value.dump().size() / 2);
  EXPECT_EQ(Unfolded(folded), value);
}

TEST(FoldObjectsTest, WhatAllHaveStandsThereOnce) {
  nlohmann::json value;
  for (const char* name : {"a", "b", "c"}) {
    const std::string source = name;
    value[source] = {{"shard", "/data/training/\u00e4" + source + "/0000.jsonl"},
                     {"pass", 0},
                     {"short", "x" + source},
                     {"same", "the very same text"},
                     {"list", {1, 2}},
                     {"mark", nullptr}};
  }
  value["b"]["shard"] =
      "/data/training/\u00e5/b/11.jsonl";  // ends within a character, were it bytes
  const nlohmann::json folded = FoldObjects(value);
  const nlohmann::json& each = folded.at("<folded>").at(0).at("each");
  EXPECT_EQ(each.at("shard").at("<ends>"), nlohmann::json({"/data/training/", ".jsonl"})) << each;
  EXPECT_EQ(each.at("pass"), 0);
  EXPECT_EQ(each.at("short"), nlohmann::json({"xa", "xb", "xc"}));
  EXPECT_EQ(each.at("same"), "the very same text");
  EXPECT_EQ(each.at("list"), nlohmann::json::parse("[[1, 2], [1, 2], [1, 2]]"));
  EXPECT_EQ(Unfolded(folded), value);
  EXPECT_FALSE(folded.dump().empty());  // still UTF-8
}

TEST(FoldObjectsTest, NamesThatAreKnownAreNotWrittenAgain) {
  const nlohmann::json known = {"a", "b", "c", "d"};
  nlohmann::json value;
  for (const char* name : {"a", "b", "c", "d"}) value[name] = {{"x", name}};
  EXPECT_EQ(FoldObjects(value, known).at("<folded>").at(0).at("names"), "known");
  EXPECT_EQ(UnfoldObjects(FoldObjects(value, known), known).ValueOrDie(), value);
  value["b"]["y"] = 1;
  value["d"]["y"] = 2;
  EXPECT_EQ(FoldObjects(value, known).at("<folded>").at(1).at("names"), nlohmann::json({1, 3}));
  EXPECT_EQ(UnfoldObjects(FoldObjects(value, known), known).ValueOrDie(), value);
  EXPECT_FALSE(UnfoldObjects(FoldObjects(value, known)).ok());
  value["e"] = value["a"];
  EXPECT_EQ(FoldObjects(value, known).at("<folded>").at(0).at("names"),
            nlohmann::json({"a", "c", "e"}));
  EXPECT_EQ(UnfoldObjects(FoldObjects(value, known), known).ValueOrDie(), value);
}

TEST(FoldObjectsTest, StringsOfWhichOneIsThePrefixOfAnother) {
  const std::string path = "/a/long/path/that/is/shared/by/all/of/the/sources/of/a/mix/";
  const nlohmann::json value = {
      {"a", {{"s", path}}}, {"b", {{"s", path + path}}}, {"c", {{"s", path}}}};
  EXPECT_EQ(Unfolded(FoldObjects(value)), value);
}

/// A value of few keys, so that shapes meet; among them the one that marks what is folded.
nlohmann::json Random(std::mt19937* random, int depth) {
  static const char* const kKeys[] = {"a", "b", "c", "d", "<folded>", "plain", "names", "<ends>"};
  switch ((*random)() % (depth > 0 ? 7 : 4)) {
    case 0:
      return nullptr;
    case 1:
      return (*random)() % 100;
    case 2:
      return nlohmann::json::array({1, {{"a", 2}}});
    case 3:
      return std::string((*random)() % 3 * 40, 'x') + ((*random)() % 2 == 0 ? "\u00e4" : "\u00e5");
    default: {
      nlohmann::json object = nlohmann::json::object();
      for (int i = (*random)() % 5; i > 0; --i) {
        object[kKeys[(*random)() % ((*random)() % 8 + 1)]] = Random(random, depth - 1);
      }
      return object;
    }
  }
}

TEST(FoldObjectsTest, GivesBackWhatItWasGiven) {
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const nlohmann::json value = Random(&random, 4);
    EXPECT_EQ(Unfolded(FoldObjects(value)), value) << value;
  }
}

TEST(FoldObjectsTest, DamageIsAnError) {
  for (const char* text : {R"({"<folded>": 3})", R"({"<folded>": [3]})",
                           R"({"<folded>": [{"names": ["a", "b"], "each": {"x": [1]}}]})",
                           R"({"<folded>": [{"names": ["a"], "each": {"x": {"<ends>": 1}}}]})",
                           R"({"a": {"<folded>": [{"names": 2, "each": {}}]}})"}) {
    EXPECT_TRUE(UnfoldObjects(nlohmann::json::parse(text)).status().IsInvalid()) << text;
  }
}

}  // namespace
}  // namespace easydata::loader
