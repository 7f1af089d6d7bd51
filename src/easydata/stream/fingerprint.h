#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "easydata/base/status.h"

namespace easydata {

/// What a cursor keeps of a plan's description (Describe() in plan.h): the same keys, with short
/// values as they are and a hash in place of long ones (for lists of some items, of each of them),
/// so that a difference can be named later without keeping the whole plan. The keys of mixed
/// sources, `sources[name].*`, are folded to a few bytes a source.
nlohmann::json Fingerprint(const nlohmann::json& description);

/// The fingerprint with a key for each that the description had.
nlohmann::json UnfoldFingerprint(const nlohmann::json& fingerprint);

/// OK when `saved` (made by Fingerprint, unfolded or not) fits the plan; else Invalid, which names
/// the first key that differs, with both values where they are short, or the item of a list.
Status CheckFingerprint(const nlohmann::json& saved, const nlohmann::json& description);

}  // namespace easydata
