#pragma once

#include <nlohmann/json.hpp>

#include "easydata/base/status.h"

namespace easydata::loader {

/// Writes the objects of one shape in a value as one: the positions of a mix's sources have the
/// same keys, which are then written once.
///
///   {"a": {"x": 1, "y": {"z": 2}}, "b": {"x": 3, "y": {"z": 4}}, "c": 5}
///   {"c": 5, "<folded>": [{"names": ["a", "b"], "each": {"x": [1, 3], "y": {"z": [2, 4]}}}]}
///
/// A value that all share is written once, without an array; strings with a common beginning or end
/// are written without it: {"<ends>": ["/data/", ".jsonl"], "between": ["0", "1"]}.
///
/// Names in `known`, a sorted array that is kept elsewhere, are not written again: "names" is
/// "known" for all of them, or has their indices in it. Equal values give equal results.
nlohmann::json FoldObjects(nlohmann::json value, const nlohmann::json& known = nullptr);

/// Undoes FoldObjects(); what that leaves as it is stays as it is. Invalid where the value is
/// damaged.
Result<nlohmann::json> UnfoldObjects(const nlohmann::json& folded,
                                     const nlohmann::json& known = nullptr);

}  // namespace easydata::loader
