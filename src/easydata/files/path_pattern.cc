#include "easydata/files/path_pattern.h"

#include <algorithm>

#include "easydata/files/name_pattern.h"

namespace easydata::files {
namespace {

bool IsHidden(std::string_view name) { return name.starts_with('.'); }

/// Whether a folder is not entered unless it is spelled out: others leave there what is not, or not
/// yet, data (Spark's _temporary, Delta's _delta_log).
bool IsHiddenFolder(std::string_view name) { return IsHidden(name) || name.starts_with('_'); }

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

void PathPattern::Add(size_t index, States* states) const {
  const size_t most = IsAny(index) && !is_last(index) ? index + 1 : index;
  for (; index <= most; ++index) {
    // Each index adds itself and the next two at most: what is there already is near the end.
    const auto near = states->end() - std::min<std::ptrdiff_t>(4, std::ssize(*states));
    if (std::find(near, states->end(), index) == states->end()) states->push_back(index);
  }
}

PathPattern::States PathPattern::Start() const {
  States out;
  Add(0, &out);
  return out;
}

bool PathPattern::MatchesPart(size_t index, std::string_view name) const {
  const std::string& part = parts_[index];
  if (!IsPattern(part)) return name == part;
  return (!IsHidden(name) || IsHidden(part)) && MatchesName(part, name);
}

PathPattern::States PathPattern::Enter(const States& states, std::string_view name,
                                       bool is_link) const {
  States out;
  for (const size_t index : states) {
    if (IsAny(index)) {
      if (!IsHiddenFolder(name) && !is_link) Add(index, &out);
    } else if (!is_last(index) && MatchesPart(index, name) &&
               (!IsHiddenFolder(name) || parts_[index][0] == name[0])) {
      Add(index + 1, &out);
    }
  }
  return out;
}

bool PathPattern::MatchesFile(const States& states, std::string_view name,
                              const Filter& is_wanted) const {
  return std::any_of(states.begin(), states.end(), [&](size_t index) {
    if (!is_last(index)) return false;
    if (IsAny(index)) return is_wanted(name);
    return MatchesPart(index, name) && (!IsPattern(parts_[index]) || is_wanted(name));
  });
}

bool PathPattern::IsAtAnyFile(const States& states) const {
  return std::any_of(states.begin(), states.end(),
                     [&](size_t index) { return is_last(index) && IsAny(index); });
}

bool PathPattern::Matches(std::string_view path, const Filter& is_wanted) const {
  States states = Start();
  for (;;) {
    const size_t slash = path.find('/');
    if (slash == std::string_view::npos) return MatchesFile(states, path, is_wanted);
    states = Enter(states, path.substr(0, slash));
    if (states.empty()) return false;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace easydata::files
