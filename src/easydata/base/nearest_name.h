#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace easydata {

/// Finds the candidate that was most likely meant by `name`, or nothing when none is near.
/// Distance: insertions, deletions, substitutions and swaps of neighbours (optimal string
/// alignment), case ignored; ties go to the first.
std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates);

/// `; did you mean "x"?` for the nearest candidate; else `; there are: a, b, c` (at most 20 of
/// them).
std::string Suggestion(std::string_view name, const std::vector<std::string>& candidates);

/// `; did you mean a or b?` for the nearest one or two of `names`, case regarded; else nothing. For
/// names of files and columns, of which there may be very many.
std::string DidYouMean(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace easydata
