#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace easydata::files {

/// A pattern of paths: parts between slashes as MatchesName() has them, and `**` for any number of
/// folders; at the end, for the files in them. Hidden folders (".git") are entered where they are
/// spelled out only.
///
/// A path is matched part by part, with all places of the pattern at which it may be: the time is
/// the product of both lengths, whatever the pattern.
class PathPattern {
 public:
  /// Parts of the pattern that the next part of a path may stand for.
  using Places = std::vector<size_t>;
  /// Whether a file of this name is wanted; not asked of names that are spelled out.
  using Filter = std::function<bool(std::string_view name)>;

  explicit PathPattern(std::string_view pattern);

  Places Start() const;

  /// The places in the folder `name`; none: no file below it matches. `**` follows no links: they
  /// may lead round in circles.
  Places Enter(const Places& places, std::string_view name, bool is_link = false) const;

  /// Whether a file matches that lies where the places are.
  bool MatchesFile(const Places& places, std::string_view name, const Filter& is_wanted) const;

  /// Whether `**` at the end is among the places.
  bool IsAtAnyFile(const Places& places) const;

  /// Whether a whole path matches.
  bool Matches(std::string_view path, const Filter& is_wanted) const;

  const std::string& part(size_t place) const { return parts_[place]; }
  bool is_last(size_t place) const { return place + 1 == parts_.size(); }

 private:
  bool IsAny(size_t place) const { return parts_[place] == "**"; }
  /// Whether a name may stand for a part that is not `**`.
  bool MatchesPart(size_t place, std::string_view name) const;
  /// Adds a place, and the one behind it where that is reached by no folder at all.
  void Add(size_t place, Places* places) const;

  std::vector<std::string> parts_;
};

}  // namespace easydata::files
