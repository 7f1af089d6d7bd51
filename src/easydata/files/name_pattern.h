#pragma once

#include <string_view>

namespace easydata::files {

/// Whether a text has characters that stand for others: `*`, `?`, `[`.
bool IsPattern(std::string_view text);

/// Whether a name matches one part (between slashes) of a pattern: `*` is any text, `?` any
/// character, `[a-z]` one of a set and `[!a-z]` none of it.
bool MatchesName(std::string_view pattern, std::string_view name);

}  // namespace easydata::files
