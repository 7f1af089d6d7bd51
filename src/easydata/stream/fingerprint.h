#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/plan.h"

namespace easydata {

/// What a cursor keeps of `description`, that of `plan` (Describe() in plan.h) and more keys: the
/// same keys, with short values as they are and a hash in place of long ones (for lists of some
/// items, of each of them), so that a difference can be named later without keeping the whole plan.
/// The keys of inputs that are folded, `sources[name].*`, take a few bytes an input.
nlohmann::json Fingerprint(const nlohmann::json& description, const PlanNode& plan);

/// The fingerprint with a key for each that the description had.
nlohmann::json UnfoldFingerprint(const nlohmann::json& fingerprint);

/// OK when `saved` (made by Fingerprint, unfolded or not) fits the plan, by the rules of its nodes;
/// else Invalid, which names the first key that differs, with both values where they are short, or
/// the item of a list.
Status CheckFingerprint(const nlohmann::json& saved, const nlohmann::json& description,
                        const PlanNode& plan);

/// A node of a plan that is compared with a state: what a rule of its options sees.
struct ComparedNode : KeyedNode {
  const nlohmann::json& saved;    // fingerprint of the whole state, unfolded
  const nlohmann::json& current;  // that of the plan

  /// What the state has kept of an option; null: nothing.
  const nlohmann::json* Saved(const std::string& option) const;
  /// The same of the plan.
  const nlohmann::json* Current(const std::string& option) const;
  /// Whether both know an option, and it is the same.
  bool IsSame(const std::string& option) const;
  /// Whether a rule lets an option differ that both know.
  bool MayDiffer(const std::string& option) const;
  /// The nodes that this one reads, and those upstream of them.
  std::vector<ComparedNode> Upstream() const;
};

/// The items [begin, end) of a list among which the first lies that changed, as far as the two
/// fingerprints tell. `now` is the list that `current` is of, and as long as the saved one.
std::pair<size_t, size_t> FindChangedItems(const nlohmann::json& saved,
                                           const nlohmann::json& current,
                                           const nlohmann::json& now);

}  // namespace easydata
