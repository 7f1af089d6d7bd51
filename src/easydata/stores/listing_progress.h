#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "easydata/base/status.h"

namespace easydata::stores {

/// Counts the pages of an answer that comes in several, each of which says how to ask for the next,
/// and ends one that would never end.
class ListingProgress {
 public:
  /// Pages in a row that bring nothing, as those of a bucket do out of which much was deleted.
  static constexpr int kMostEmptyPages = 1000;
  /// Of one listing; as many take some two gigabytes of memory.
  static constexpr size_t kMostEntries = 10'000'000;

  /// `what` begins errors: "cannot list s3://data/a/".
  explicit ListingProgress(std::string what) : what_(std::move(what)) {}

  /// Takes note of a page with so many entries that is followed by the one called `next`. An
  /// IOError where that one was asked for before, and beyond the bounds.
  Status Add(const std::string& next, size_t entries);

 private:
  const std::string what_;
  std::unordered_set<uint64_t> seen_ = {};  // hashes of what asked for pages
  size_t entries_ = 0;
  int empty_pages_ = 0;
};

}  // namespace easydata::stores
