#include "easydata/stream/fingerprint.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/hash.h"

namespace easydata {
namespace {

constexpr size_t kShort = 24;              // characters of a value that is kept as it is
constexpr std::string_view kAllOf = "*]";  // at the end of a key: the folded inputs "sources[*]"
constexpr size_t kFoldedHash = 8;          // characters of the hash of an input's value
constexpr size_t kHash = 17;               // characters of "#" and a value's hash
constexpr size_t kItems = 16;    // that a list has at most whose items have hashes of their own
constexpr size_t kItemHash = 4;  // characters of each, or of a part of a longer list
constexpr char kNone[] = "--------";  // in place of one, where an input lacks the key

/// {"keys": {key: the hash that all inputs have, or ""}, "each": {name: its hashes of the keys
/// that are "", one after the other}}.
nlohmann::json Fold(const std::map<std::string, std::map<std::string, std::string>>& inputs) {
  std::map<std::string, std::set<std::string>> values;
  for (const auto& [name, keys] : inputs) {
    for (const auto& [key, hash] : keys) values[key].insert(hash);
  }
  nlohmann::json out = {{"keys", nlohmann::json::object()}, {"each", nlohmann::json::object()}};
  for (auto& [key, hashes] : values) {
    for (const auto& [name, keys] : inputs) {
      if (!keys.contains(key)) hashes.insert(kNone);
    }
    out["keys"][key] = hashes.size() == 1 ? *hashes.begin() : "";
  }
  for (const auto& [name, keys] : inputs) {
    std::string own;
    for (const auto& [key, hashes] : values) {
      if (hashes.size() == 1) continue;
      const auto found = keys.find(key);
      own += found == keys.end() ? kNone : found->second;
    }
    out["each"][name] = std::move(own);
  }
  return out;
}

/// The first item of part `part` of a long list, which is seen as kItems parts.
size_t PartBegin(size_t part, size_t items) { return part * items / kItems; }

/// The hash of a long value and, for a short list, those of its items, for a long list those of its
/// parts: "#0123456789abcdef:01234567", "#0123456789abcdef/01234567...".
std::string HashOf(const nlohmann::json& value, const std::string& text) {
  std::string hash = "#" + ToHex(Hash64(text));
  if (!value.is_array()) return hash;
  const bool by_item = value.size() <= kItems;
  hash += by_item ? ":" : "/";
  for (size_t part = 0; part < (by_item ? value.size() : kItems); ++part) {
    uint64_t of_part = 0;
    const size_t begin = by_item ? part : PartBegin(part, value.size());
    const size_t end = by_item ? part + 1 : PartBegin(part + 1, value.size());
    for (size_t i = begin; i < end; ++i) of_part = Hash64(value[i].dump(), of_part);
    hash += ToHex(of_part).substr(0, kItemHash);
  }
  return hash;
}

bool IsHash(const nlohmann::json& value) {
  return value.is_string() && value.get_ref<const std::string&>().starts_with("#");
}

/// The hashes of the items, or of the parts of a longer list, where they are known.
std::string_view ItemHashes(const nlohmann::json& value, char mark = ':') {
  if (!IsHash(value)) return {};
  const std::string_view text = value.get_ref<const std::string&>();
  return text.size() > kHash && text[kHash] == mark ? text.substr(kHash + 1) : std::string_view();
}

std::string Show(const nlohmann::json& value) {
  if (!IsHash(value)) return value.dump();
  return "other content (hash " + value.get_ref<const std::string&>().substr(1, 8) + ")";
}

std::string Shortened(const nlohmann::json& value) {
  constexpr size_t kShown = 200;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true);
  if (text.size() > kShown) text.replace(kShown, std::string::npos, "...");
  return text;
}

/// How `key` changed: which item of a list differs, where that is known. `now` is the value that
/// `current` stands for.
std::string Change(const std::string& key, const nlohmann::json& saved,
                   const nlohmann::json& current, const nlohmann::json& now) {
  const std::string_view before = ItemHashes(saved);
  const std::string_view after = ItemHashes(current);
  const bool hashed = !before.empty() && !after.empty();
  if (!now.is_array() || !(hashed || (saved.is_array() && current.is_array()))) {
    return key + " changed, from " + Show(saved) + " to " + Show(current);
  }
  const size_t items = hashed ? before.size() / kItemHash : saved.size();
  const auto same = [&](size_t i) {
    return hashed
               ? before.substr(i * kItemHash, kItemHash) == after.substr(i * kItemHash, kItemHash)
               : saved[i] == now[i];
  };
  size_t i = 0;
  while (i < std::min(items, now.size()) && same(i)) ++i;
  const std::string item = key + "[" + std::to_string(i) + "]";
  if (i == now.size() && i == items) return key + " changed, to " + Shortened(now);
  if (i == now.size()) {
    return key + " has " + std::to_string(i) + " items, not " + std::to_string(items) + ": " +
           item + " is gone";
  }
  if (i == items) return item + " is new: " + Shortened(now[i]);
  return item + " changed, " + (hashed ? "" : "from " + saved[i].dump() + " ") + "to " +
         Shortened(now[i]);
}

/// A rule, and the node that has the option.
struct RuledOption {
  OptionRule rule;
  const ComparedNode* node = nullptr;
};

/// Rules by key. A key without one is that of an option that must be equal.
using KeyRules = std::map<std::string, RuledOption>;

RuledOption RuleOf(const std::string& key, const KeyRules& rules) {
  const auto found = rules.find(key);
  return found == rules.end() ? RuledOption{} : found->second;
}

/// Whether a key lists the operators of a stream: their options tell more.
bool ListsOperators(std::string_view key) { return key == "plan" || key.ends_with("].plan"); }

/// The keys of a fingerprint in the order in which they are compared, without lists of operators.
std::vector<std::string> KeysOf(const nlohmann::json& fingerprint, const KeyRules& rules) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : fingerprint.items()) {
    if (!ListsOperators(key)) keys.push_back(key);
  }
  std::stable_sort(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) {
    return RuleOf(a, rules).rule.rank < RuleOf(b, rules).rule.rank;
  });
  return keys;
}

/// What the keys of a plan's folded inputs begin with, "sources["; empty: there are none.
std::string FoldedPrefix(const PlanNode& plan) {
  for (const KeyedNode& each : KeyedNodes(plan)) {
    if (!each.stream.empty() || each.node->inputs.empty()) continue;
    const PlanInput& input = each.node->inputs[0];
    if (input.is_folded) return input.prefix.substr(0, input.prefix.find('[') + 1);
  }
  return "";
}

/// The keys of options that are kept as they are.
std::set<std::string> KeptKeys(const PlanNode& plan) {
  std::set<std::string> keys;
  for (const KeyedNode& each : KeyedNodes(plan)) {
    for (const OptionRule& rule : each.node->rules) {
      if (rule.is_kept) keys.insert(each.options + rule.option);
    }
  }
  return keys;
}

}  // namespace

nlohmann::json Fingerprint(const nlohmann::json& description, const PlanNode& plan) {
  const std::string folded = FoldedPrefix(plan);
  const std::set<std::string> kept = KeptKeys(plan);
  nlohmann::json out = nlohmann::json::object();
  std::map<std::string, std::map<std::string, std::string>> inputs;  // hashes by name and key
  for (const auto& [key, value] : description.items()) {
    const std::string text = value.dump();
    const size_t name_end = key.find("].");
    if (!folded.empty() && key.starts_with(folded) && name_end != std::string::npos) {
      const size_t start = folded.size();
      inputs[key.substr(start, name_end - start)][key.substr(name_end + 2)] =
          ToHex(Hash64(text)).substr(0, kFoldedHash);
    } else if (text.size() <= kShort || kept.contains(key)) {
      out[key] = value;
    } else {
      out[key] = HashOf(value, text);
    }
  }
  if (!inputs.empty()) out[folded + std::string(kAllOf)] = Fold(inputs);
  return out;
}

nlohmann::json UnfoldFingerprint(const nlohmann::json& fingerprint) {
  nlohmann::json out = fingerprint;
  if (!out.is_object()) return out;
  for (const auto& [all, folded] : fingerprint.items()) {
    if (!all.ends_with(kAllOf)) continue;
    out.erase(all);
    const std::string prefix = all.substr(0, all.size() - kAllOf.size());
    for (const auto& [name, own] : folded.at("each").items()) {
      const auto hashes = own.get<std::string>();
      size_t at = 0;
      for (const auto& [key, common] : folded.at("keys").items()) {
        auto hash = common.get<std::string>();
        if (hash.empty()) {
          hash = hashes.substr(std::min(at, hashes.size()), kFoldedHash);
          at += kFoldedHash;
        }
        if (hash != kNone) out[prefix + name + "]." + key] = "#" + hash;
      }
    }
  }
  return out;
}

Status CheckFingerprint(const nlohmann::json& saved_plan, const nlohmann::json& description,
                        const PlanNode& plan) {
  const nlohmann::json saved = UnfoldFingerprint(saved_plan);
  const nlohmann::json current = UnfoldFingerprint(Fingerprint(description, plan));
  std::vector<ComparedNode> nodes;
  for (KeyedNode& node : KeyedNodes(plan)) nodes.push_back({std::move(node), saved, current});
  KeyRules rules;
  for (const ComparedNode& node : nodes) {
    for (const OptionRule& rule : node.node->rules) {
      rules[node.options + rule.option] = {rule, &node};
    }
  }
  for (const std::string& key : KeysOf(current, rules)) {
    const nlohmann::json& value = current.at(key);
    const auto [rule, node] = RuleOf(key, rules);
    if (!saved.contains(key)) {
      if (rule.may_lack) continue;
      return Status::Invalid("the saved state is of another stream: it knows nothing of ", key,
                             ", which is ", Show(value),
                             " now; resume with the configuration it was saved with");
    }
    if (saved.at(key) == value || (rule.may_differ != nullptr && rule.may_differ(*node))) continue;
    if (rule.explain != nullptr) {
      const std::string text = rule.explain(*node, rule.option);
      if (!text.empty()) return Status::Invalid(text);
    }
    return Status::Invalid("the saved state is of another stream: ",
                           Change(key, saved.at(key), value, description.at(key)),
                           "; resume with the configuration it was saved with");
  }
  for (const auto& [key, value] : saved.items()) {
    if (!current.contains(key) && !RuleOf(key, rules).rule.may_lack && !ListsOperators(key)) {
      return Status::Invalid("the saved state is of another stream: ", key, " was ", Show(value),
                             " and is gone; resume with the configuration it was saved with");
    }
  }
  for (const auto& [key, value] : current.items()) {
    if (!ListsOperators(key) || (saved.contains(key) && saved.at(key) == value)) continue;
    return Status::Invalid("the saved state is of another stream: its operators follow each other ",
                           "otherwise, in ", key, ", now ", Shortened(description.at(key)),
                           "; resume with the configuration it was saved with");
  }
  return Status::OK();
}

const nlohmann::json* ComparedNode::Saved(const std::string& option) const {
  const auto found = saved.find(options + option);
  return found == saved.end() ? nullptr : &*found;
}

const nlohmann::json* ComparedNode::Current(const std::string& option) const {
  const auto found = current.find(options + option);
  return found == current.end() ? nullptr : &*found;
}

bool ComparedNode::IsSame(const std::string& option) const {
  return Saved(option) != nullptr && Current(option) != nullptr &&
         *Saved(option) == *Current(option);
}

bool ComparedNode::MayDiffer(const std::string& option) const {
  return std::any_of(node->rules.begin(), node->rules.end(), [&](const OptionRule& rule) {
    return rule.option == option && rule.may_differ != nullptr && rule.may_differ(*this);
  });
}

std::vector<ComparedNode> ComparedNode::Upstream() const {
  std::vector<ComparedNode> out;
  for (const PlanInput& input : node->inputs) {
    for (KeyedNode& each : KeyedNodes(*input.node, stream + input.prefix)) {
      out.push_back({std::move(each), saved, current});
    }
  }
  return out;
}

std::pair<size_t, size_t> FindChangedItems(const nlohmann::json& saved,
                                           const nlohmann::json& current,
                                           const nlohmann::json& now) {
  const size_t items = now.size();
  const bool has_values = saved.is_array() && saved.size() == items;
  const std::string before(ItemHashes(saved, items <= kItems ? ':' : '/'));
  const std::string after(ItemHashes(current, items <= kItems ? ':' : '/'));
  const size_t parts = has_values ? items : before.size() / kItemHash;
  if (!has_values && (before.size() != after.size() || before.empty())) return {0, items};
  for (size_t part = 0; part < parts; ++part) {
    const bool same = has_values ? saved[part] == now[part]
                                 : before.compare(part * kItemHash, kItemHash, after,
                                                  part * kItemHash, kItemHash) == 0;
    if (same) continue;
    if (items <= kItems || has_values) return {part, part + 1};
    return {PartBegin(part, items), PartBegin(part + 1, items)};
  }
  return {0, items};
}

}  // namespace easydata
