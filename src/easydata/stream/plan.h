#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "easydata/base/status.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// What a cursor keeps of a plan's description: the same keys, with short values as they are and a
/// hash in place of long ones, so that a difference can be named later without keeping the whole
/// plan.
nlohmann::json Fingerprint(const nlohmann::json& description);

/// OK when `saved` (made by Fingerprint) fits the plan; else Invalid, which names the first key
/// that differs, with both values where they are short.
Status CheckFingerprint(const nlohmann::json& saved, const nlohmann::json& description);

/// The description with `prefix` put before each key: for stages of several inputs.
nlohmann::json PrefixKeys(const nlohmann::json& description, const std::string& prefix);

}  // namespace easydata
