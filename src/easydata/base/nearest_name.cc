#include "easydata/base/nearest_name.h"

#include <algorithm>
#include <utility>

#include "easydata/base/lower_case.h"

namespace easydata {
namespace {

/// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
size_t EditDistance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> table((a.size() + 1) * width);
  for (size_t i = 0; i <= a.size(); ++i) table[i * width] = i;
  for (size_t j = 0; j <= b.size(); ++j) table[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t best = table[(i - 1) * width + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      best = std::min({best, table[(i - 1) * width + j] + 1, table[i * width + j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, table[(i - 2) * width + j - 2] + 1);
      }
      table[i * width + j] = best;
    }
  }
  return table.back();
}

}  // namespace

std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates) {
  const std::string wanted = LowerCase(name);
  const std::string* best = nullptr;
  // A third of the letters may be wrong; a whole word that is contained ("length" in "seq_length")
  // is near as well.
  size_t best_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    size_t distance = EditDistance(wanted, LowerCase(candidate));
    if (distance < best_distance && distance < wanted.size()) {
      best_distance = distance;
      best = &candidate;
    }
  }
  if (best == nullptr && wanted.size() >= 4) {
    for (const std::string& candidate : candidates) {
      const std::string other = LowerCase(candidate);
      const bool contained = other.find(wanted) != std::string::npos ||
                             (other.size() >= 4 && wanted.find(other) != std::string::npos);
      if (contained) {
        best = &candidate;
        break;
      }
    }
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::string Suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  if (auto nearest = NearestName(name, candidates)) return "; did you mean \"" + *nearest + "\"?";
  if (candidates.empty()) return "";
  constexpr size_t kShown = 20;
  std::string out = "; there are: ";
  for (size_t i = 0; i < std::min(candidates.size(), kShown); ++i) {
    if (i > 0) out += ", ";
    out += candidates[i];
  }
  if (candidates.size() > kShown) out += ", ...";
  return out;
}

std::string DidYouMean(std::string_view wanted, const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, std::string>> near;
  const size_t limit = std::max<size_t>(1, wanted.size() / 3);
  for (const std::string& name : names) {
    if (wanted.size() + limit < name.size() || name.size() + limit < wanted.size()) continue;
    const size_t distance = EditDistance(wanted, name);
    if (distance <= limit) near.emplace_back(distance, name);
  }
  if (near.empty()) return "";
  std::sort(near.begin(), near.end());
  std::string out = "; did you mean " + near[0].second;
  if (near.size() > 1) out += " or " + near[1].second;
  return out + "?";
}

}  // namespace easydata
