#include "easydata/stream/plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace easydata {
namespace {

StreamPlan PlanOfNode(std::shared_ptr<const PlanNode> node) {
  StreamPlan plan;
  plan.node = std::move(node);
  return plan;
}

StreamPlan Files(const std::string& file) {
  return PlanOfNode(MakeNode("source", {{"files", {file}}}));
}

TEST(PlanTest, PrintsTheOperatorsInOrder) {
  StreamPlan plan = Files("a");
  plan = PlanOfNode(MakeNode("map", {{"callable", "f"}}, plan));
  plan = PlanOfNode(MakeNode("limit", {{"rows", 3}}, plan));
  plan = PlanOfNode(MakeNode("map", {{"callable", "g"}}, plan));
  const nlohmann::json expected = {{"plan", {"source", "map", "limit", "map"}},
                                   {"source.files", {"a"}},
                                   {"map.callable", "f"},
                                   {"limit.rows", 3},
                                   {"map[2].callable", "g"}};
  EXPECT_EQ(Describe(*plan.node), expected);
}

TEST(PlanTest, PrintsWhatANodeReadsBehindThePrefixOfEach) {
  auto mix = MakeNode("mix", {{"seed", 1}});
  mix->inputs = {{"sources[a].", Files("x").node}, {"sources[b].", Files("y").node}};
  const StreamPlan plan = PlanOfNode(MakeNode("pack", {{"seq_length", 8}}, PlanOfNode(mix)));
  const nlohmann::json expected = {{"plan", {"mix", "pack"}},
                                   {"mix.seed", 1},
                                   {"pack.seq_length", 8},
                                   {"sources[a].plan", {"source"}},
                                   {"sources[a].source.files", {"x"}},
                                   {"sources[b].plan", {"source"}},
                                   {"sources[b].source.files", {"y"}}};
  EXPECT_EQ(Describe(*plan.node), expected);
  // Of one input, too.
  mix = MakeNode("mix", {{"seed", 1}});
  mix->inputs = {{"sources[a].", Files("x").node}};
  EXPECT_EQ(Describe(*mix).at("sources[a].source.files"), nlohmann::json({"x"}));
}

TEST(PlanTest, KeysLeadToTheirNodes) {
  StreamPlan part = PlanOfNode(MakeNode("map", {{"callable", "f"}}, Files("x")));
  part = PlanOfNode(MakeNode("map", {{"callable", "g"}}, part));
  auto mix = MakeNode("mix", nlohmann::json::object());
  mix->inputs = {{"sources[a].", part.node}, {"sources[b].", Files("y").node}};
  const StreamPlan plan = PlanOfNode(MakeNode("pack", {{"seq_length", 8}}, PlanOfNode(mix)));
  const nlohmann::json description = Describe(*plan.node);
  std::string keys;
  for (const KeyedNode& each : KeyedNodes(*plan.node)) {
    keys += each.stream + "|" + each.options + "\n";
    for (const auto& [option, value] : each.node->options->items()) {
      EXPECT_EQ(description.at(each.options + option), value);
    }
  }
  EXPECT_EQ(keys,
            "sources[a].|sources[a].source.\nsources[a].|sources[a].map.\n"
            "sources[a].|sources[a].map[2].\nsources[b].|sources[b].source.\n|mix.\n|pack.\n");
}

TEST(PlanTest, TheOrderOfOperatorsShows) {
  const auto chain = [](const std::string& first, const std::string& second) {
    const StreamPlan inner = PlanOfNode(MakeNode(first, nlohmann::json::object(), Files("a")));
    return Describe(*MakeNode(second, nlohmann::json::object(), inner));
  };
  EXPECT_NE(chain("pack", "limit"), chain("limit", "pack"));
}

TEST(PlanTest, OneOperatorWithoutIdentityIsEnough) {
  auto map = MakeNode("map", {{"callable", "<lambda>"}}, Files("a"));
  EXPECT_TRUE(HasIdentity(*map));
  map->has_identity = false;
  EXPECT_FALSE(HasIdentity(*MakeNode("limit", {{"rows", 3}}, PlanOfNode(map))));
  std::vector<std::string> seen;
  VisitNodes(*map, [&](const PlanNode& node) { seen.push_back(node.name); });
  EXPECT_EQ(seen, (std::vector<std::string>{"source", "map"}));
}

TEST(PlanTest, FactsGoDownstream) {
  auto source = MakeNode("source", nlohmann::json::object());
  source->facts.is_packed = true;
  source->facts.finitude = Finitude::kEndless;
  source->facts.why_endless = "because";
  const auto map = MakeNode("map", nlohmann::json::object(), PlanOfNode(source));
  EXPECT_TRUE(map->facts.is_packed);
  EXPECT_TRUE(map->facts.is_endless());
  EXPECT_EQ(map->facts.why_endless, "because");
}

}  // namespace
}  // namespace easydata
