#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::json {

/// What of JSON a program takes from a stranger. A tree is destroyed and copied by functions that
/// call themselves, and takes some thirty times the memory of its text.
struct JsonBounds {
  int depth = 64;
  size_t values = 1'000'000;  // keys are counted with their values
};

/// Parses one JSON text. An error, in words that follow the name of what was read ("is JSON nested
/// deeper than 64 levels"), for what is no JSON and beyond the bounds, which are found before
/// anything is made of the text. The engine's one way to make a tree of a text
/// (script/check_layers.py).
Result<nlohmann::json> ParseBoundedJson(std::string_view text, const JsonBounds& bounds = {});

/// Whether an error of ParseBoundedJson() is about the bounds: the text may be JSON.
bool IsBeyondBounds(const Status& status);

}  // namespace easydata::json
