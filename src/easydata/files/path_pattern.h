#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace easydata::files {

/// A pattern of paths: parts between slashes as MatchesName() has them, and `**` for any number of
/// folders; at the end, for the files in them. Folders whose names begin with "." or "_" (.git,
/// _temporary) are entered where that is spelled out only.
///
/// A nondeterministic automaton reads a path part by part, and is in all states at once that the
/// parts before may lead to: the time is the product of both lengths, whatever the pattern.
class PathPattern {
 public:
  /// Indices of the parts of the pattern that the next part of a path may stand for.
  using States = std::vector<size_t>;
  /// Whether a file of this name is wanted; not asked of names that are spelled out.
  using Filter = std::function<bool(std::string_view name)>;

  explicit PathPattern(std::string_view pattern);

  States Start() const;

  /// The states in the folder `name`; none: no file below it matches. `**` follows no links: they
  /// may lead round in circles.
  States Enter(const States& states, std::string_view name, bool is_link = false) const;

  /// Whether a file matches that lies in the folder of these states.
  bool MatchesFile(const States& states, std::string_view name, const Filter& is_wanted) const;

  /// Whether `**` at the end is among the states.
  bool IsAtAnyFile(const States& states) const;

  /// Whether a whole path matches.
  bool Matches(std::string_view path, const Filter& is_wanted) const;

  const std::string& part(size_t index) const { return parts_[index]; }
  bool is_last(size_t index) const { return index + 1 == parts_.size(); }

 private:
  bool IsAny(size_t index) const { return parts_[index] == "**"; }
  /// Whether a name may stand for a part that is not `**`.
  bool MatchesPart(size_t index, std::string_view name) const;
  /// Adds an index, and the next one where that is reached by no folder at all.
  void Add(size_t index, States* states) const;

  std::vector<std::string> parts_;
};

}  // namespace easydata::files
