#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <span>

#include "easydata/base/status.h"

namespace easydata::tokenizers {

/// The ids of an array of lists, row by row; a view, which the array outlives.
class IdColumn {
 public:
  /// TypeError for other than list<int32> and large_list<int32>, Invalid where an id is null.
  static Result<IdColumn> Make(const arrow::Array& lists);

  /// Where the ids of row `row` begin, among all; of the number of rows: where the last ones end.
  int64_t offset(int64_t row) const {
    return offsets_ != nullptr ? offsets_[row] : large_offsets_[row];
  }
  /// The ids of a row; of a null row, what its slot holds.
  std::span<const int32_t> row(int64_t row) const {
    return {ids_ + offset(row), ids_ + offset(row + 1)};
  }

 private:
  const int32_t* ids_ = nullptr;
  const int32_t* offsets_ = nullptr;  // one of the two is set
  const int64_t* large_offsets_ = nullptr;
};

}  // namespace easydata::tokenizers
