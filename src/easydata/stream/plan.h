#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "easydata/base/status.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// What a cursor keeps of a plan's description: the same keys, with short values as they are and a
/// hash in place of long ones (for lists of some items, of each of them), so that a difference can
/// be named later without keeping the whole plan. The keys of mixed sources, `sources[name].*`, are
/// folded to a few bytes a source.
nlohmann::json Fingerprint(const nlohmann::json& description);

/// The fingerprint with a key for each that the description had.
nlohmann::json UnfoldFingerprint(const nlohmann::json& fingerprint);

/// OK when `saved` (made by Fingerprint, unfolded or not) fits the plan; else Invalid, which names
/// the first key that differs, with both values where they are short, or the item of a list.
Status CheckFingerprint(const nlohmann::json& saved, const nlohmann::json& description);

/// The description with `prefix` put before each key: for stages of several inputs.
nlohmann::json PrefixKeys(const nlohmann::json& description, const std::string& prefix);

/// Whether a transform lets only so many rows of the stream through, by its description.
bool IsLimited(const nlohmann::json& description);

/// Whether the stream has no end, by its description: one that is a mix that restarts its sources,
/// or is repeated for ever.
bool NeverEnds(const nlohmann::json& description);

}  // namespace easydata
