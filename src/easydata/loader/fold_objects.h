#pragma once

#include <nlohmann/json.hpp>

#include "easydata/base/status.h"

namespace easydata {

/// The value with objects of one shape written as one: the positions of a mix's sources have the
/// same keys, which then stand there once.
///
///   {"a": {"x": 1, "y": {"z": 2}}, "b": {"x": 3, "y": {"z": 4}}, "c": 5}
///   {"c": 5, "<folded>": [{"names": ["a", "b"], "each": {"x": [1, 3], "y": {"z": [2, 4]}}}]}
///
/// A value that all have stands there once, without an array; strings that begin or end alike are
/// written without that: {"<ends>": ["/data/", ".jsonl"], "between": ["0", "1"]}.
///
/// Names in `known`, a sorted array that is kept elsewhere, are not written again: "names" is
/// "known" for all of them, or has their places in it. Equal values give equal results.
nlohmann::json FoldObjects(nlohmann::json value, const nlohmann::json& known = nullptr);

/// What FoldObjects() was given; what it would not have changed is given back as it is. Invalid
/// where the value is damaged.
Result<nlohmann::json> UnfoldObjects(const nlohmann::json& folded,
                                     const nlohmann::json& known = nullptr);

}  // namespace easydata
