#include "easydata/stream/plan.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "easydata/files/file_system.h"
#include "easydata/stream/column_kinds.h"

namespace easydata {
namespace {

constexpr NamedValue<ColumnKind> kColumnKinds[] = {
    {"any", ColumnKind::kAny}, {"text", ColumnKind::kText}, {"tokens", ColumnKind::kTokens}};

}  // namespace

std::shared_ptr<PlanNode> MakeNode(std::string name, const nlohmann::json& options) {
  auto node = std::make_shared<PlanNode>();
  node->name = std::move(name);
  node->options = std::make_shared<const nlohmann::json>(options);
  return node;
}

std::shared_ptr<PlanNode> MakeNode(std::string name, const nlohmann::json& options,
                                   const StreamPlan& upstream) {
  auto node = MakeNode(std::move(name), options);
  node->facts = upstream.node->facts;
  node->inputs = {{"", upstream.node}};
  return node;
}

nlohmann::json Describe(const PlanNode& node) {
  nlohmann::json out = nlohmann::json::object();
  for (const KeyedNode& each : KeyedNodes(node)) {
    for (const auto& [name, value] : each.node->options->items()) out[each.options + name] = value;
    out[each.stream + "plan"].push_back(each.node->name);
  }
  return out;
}

std::vector<KeyedNode> KeyedNodes(const PlanNode& node, const std::string& stream) {
  // From the last operator up to the first, or to one that reads several streams.
  std::vector<const PlanNode*> chain{&node};
  while (chain.back()->inputs.size() == 1 && chain.back()->inputs[0].prefix.empty()) {
    chain.push_back(chain.back()->inputs[0].node.get());
  }
  std::vector<KeyedNode> out;
  for (const PlanInput& input : chain.back()->inputs) {
    for (KeyedNode& each : KeyedNodes(*input.node, stream + input.prefix)) {
      out.push_back(std::move(each));
    }
  }
  std::map<std::string, int> seen;
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    std::string options = stream + (*each)->name;
    const int number = ++seen[(*each)->name];
    if (number > 1) options += "[" + std::to_string(number) + "]";
    out.push_back({*each, stream, options + "."});
  }
  return out;
}

std::span<const NamedValue<ColumnKind>> NamesOf(ColumnKind) { return kColumnKinds; }

nlohmann::json DescribeColumns(const std::vector<ColumnRequest>& columns) {
  nlohmann::json out = nlohmann::json::object();
  for (const ColumnRequest& column : columns) {
    if (column.is_named) out[column.name] = NameOf(NamesOf(column.kind), column.kind);
  }
  return out;
}

void VisitNodes(const PlanNode& node, const std::function<void(const PlanNode&)>& visit) {
  for (const PlanInput& input : node.inputs) VisitNodes(*input.node, visit);
  visit(node);
}

files::IoCounts IoCountsOf(const PlanNode& node) {
  std::set<const files::FileSystems*> seen;
  files::IoCounts sum;
  VisitNodes(node, [&](const PlanNode& one) {
    if (one.storage != nullptr && seen.insert(one.storage.get()).second) {
      sum.Add(one.storage->counts());
    }
  });
  return sum;
}

std::optional<double> BytesOfFiles(const PlanNode& node) {
  double bytes = 0;
  bool is_known = true;
  VisitNodes(node, [&](const PlanNode& one) {
    // What reads no files, and nothing that does, is in memory.
    const bool reads = one.files != nullptr || one.inputs.empty();
    is_known = is_known && (!reads || one.file_bytes.has_value());
    bytes += one.file_bytes.value_or(0);
  });
  return is_known ? std::optional(bytes) : std::nullopt;
}

bool HasIdentity(const PlanNode& node) {
  bool has = true;
  VisitNodes(node, [&](const PlanNode& each) { has = has && each.has_identity; });
  return has;
}

}  // namespace easydata
