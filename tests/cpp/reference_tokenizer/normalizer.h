#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "reference_tokenizer/text.h"

namespace easydata::tokenizers::reference {

/// Rewrites a text in place.
using Normalizer = std::function<void(Text*)>;

/// The normalizer of a tokenizer.json; null: nothing to do.
Normalizer MakeNormalizer(const nlohmann::json& component);

/// The stretches that a {"String": ...} or {"Regex": ...} pattern finds.
std::function<std::vector<Cut>(const Chars&)> MakePattern(const nlohmann::json& pattern);

/// Members of a component; NotCovered where the member is missing or of another kind.
bool BoolAt(const nlohmann::json& object, const char* key);
std::string StringAt(const nlohmann::json& object, const char* key);
/// The same with a value for a member that is missing (or null, where `null_too`).
bool BoolOr(const nlohmann::json& object, const char* key, bool otherwise);

}  // namespace easydata::tokenizers::reference
