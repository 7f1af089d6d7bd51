#pragma once

#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::foreign {

/// A repository of the Hugging Face Hub at one of its revisions.
struct HubRepository {
  std::string kind;      // "datasets", "models" or "spaces"
  std::string id;        // "org/name"; old ones: "name"
  std::string revision;  // a branch, a tag or a commit; empty: the main branch

  bool operator==(const HubRepository&) const = default;

  /// Whether the revision is a commit, which stays what it is: 40 hexadecimal digits.
  bool is_pinned() const;
  /// "datasets/org/name", and of models "org/name": as addresses have it.
  std::string Path() const;
  /// "hf://datasets/org/name@revision/", which the paths of its files follow.
  std::string Root() const;
  /// "org/name", and the revision where it is told: as messages have it.
  std::string Shown() const;
};

/// A repository, and the path of a file or folder in it, which may be empty.
struct HubAddress {
  HubRepository repository;
  std::string path;
};

/// Takes "hf://datasets/org/name@revision/data/a.parquet" apart, as huggingface_hub does: a
/// revision goes up to the next "/", which in it is written "%2F", but for refs/convert/NAME and
/// refs/pr/NUMBER. Invalid where it names no repository.
Result<HubAddress> ParseHubAddress(std::string_view uri);

}  // namespace easydata::foreign
