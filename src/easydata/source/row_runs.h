#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace easydata::source {

/// Notes which rows of a block were kept, as runs.
class RowRuns {
 public:
  void Add(int64_t row) {
    if (!runs_.empty() && runs_.back().first + runs_.back().second == row) {
      ++runs_.back().second;
    } else {
      runs_.emplace_back(row, 1);
    }
  }
  std::vector<std::pair<int64_t, int64_t>> Take() { return std::move(runs_); }

 private:
  std::vector<std::pair<int64_t, int64_t>> runs_;
};

}  // namespace easydata::source
