#include "easydata/files/path_pattern.h"

#include <algorithm>

#include "easydata/files/name_pattern.h"

namespace easydata::files {
namespace {

bool IsHidden(std::string_view name) { return name.starts_with('.'); }

}  // namespace

PathPattern::PathPattern(std::string_view pattern) {
  for (;;) {
    const size_t slash = pattern.find('/');
    const std::string_view part = pattern.substr(0, slash);
    // Twice in a row it says no more than once.
    if (part != "**" || parts_.empty() || parts_.back() != "**") parts_.emplace_back(part);
    if (slash == std::string_view::npos) return;
    pattern.remove_prefix(slash + 1);
  }
}

void PathPattern::Add(size_t place, Places* places) const {
  const size_t most = IsAny(place) && !is_last(place) ? place + 1 : place;
  for (; place <= most; ++place) {
    // Each place adds itself and the next two at most: what is there already is near the end.
    const auto near = places->end() - std::min<std::ptrdiff_t>(4, std::ssize(*places));
    if (std::find(near, places->end(), place) == places->end()) places->push_back(place);
  }
}

PathPattern::Places PathPattern::Start() const {
  Places out;
  Add(0, &out);
  return out;
}

bool PathPattern::MatchesPart(size_t place, std::string_view name) const {
  const std::string& part = parts_[place];
  if (!IsPattern(part)) return name == part;
  return (!IsHidden(name) || IsHidden(part)) && MatchesName(part, name);
}

PathPattern::Places PathPattern::Enter(const Places& places, std::string_view name,
                                       bool is_link) const {
  Places out;
  for (const size_t place : places) {
    if (IsAny(place)) {
      if (!IsHidden(name) && !is_link) Add(place, &out);
    } else if (!is_last(place) && MatchesPart(place, name)) {
      Add(place + 1, &out);
    }
  }
  return out;
}

bool PathPattern::MatchesFile(const Places& places, std::string_view name,
                              const Filter& is_wanted) const {
  return std::any_of(places.begin(), places.end(), [&](size_t place) {
    if (!is_last(place)) return false;
    if (IsAny(place)) return is_wanted(name);
    return MatchesPart(place, name) && (!IsPattern(parts_[place]) || is_wanted(name));
  });
}

bool PathPattern::IsAtAnyFile(const Places& places) const {
  return std::any_of(places.begin(), places.end(),
                     [&](size_t place) { return is_last(place) && IsAny(place); });
}

bool PathPattern::Matches(std::string_view path, const Filter& is_wanted) const {
  Places places = Start();
  for (;;) {
    const size_t slash = path.find('/');
    if (slash == std::string_view::npos) return MatchesFile(places, path, is_wanted);
    places = Enter(places, path.substr(0, slash));
    if (places.empty()) return false;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace easydata::files
