#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::files {

/// Whether a name has what ExpandBraces() spells out.
inline bool HasBraces(std::string_view name) {
  const size_t open = name.find('{');
  return open != std::string_view::npos && name.find('}', open) != std::string_view::npos;
}

/// Spells out the braces of a name, as a shell does: `{a,b}` is each of these, `{00..12}` each
/// number from the first to the last, with as many digits as the longer of them where one begins
/// with 0. Braces stand beside each other, not within. Text without braces is one name. Invalid for
/// braces that are not closed, or stand for nothing or for more than ten million names; errors call
/// the pattern `shown`.
Result<std::vector<std::string>> ExpandBraces(const std::string& pattern, const std::string& shown);
inline Result<std::vector<std::string>> ExpandBraces(const std::string& pattern) {
  return ExpandBraces(pattern, pattern);
}

}  // namespace easydata::files
