#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "reference_tokenizer/text.h"

namespace easydata::tokenizers::reference {

/// Cuts one piece into pieces, rewritten where the component does so; empty ones are for the caller
/// to drop.
using PreTokenizer = std::function<std::vector<Text>(const Text&)>;

/// The pre-tokenizer of a tokenizer.json as steps, each to be applied to every piece of the one
/// before; null: no step.
std::vector<PreTokenizer> MakePreTokenizer(const nlohmann::json& component);

}  // namespace easydata::tokenizers::reference
