#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/tokenizer/id_buffer.h"

namespace easydata {

/// Ids of consecutive rows of an array of texts, or of a part of one row: only the last part has
/// the row's end.
struct EncodedRows {
  std::vector<int64_t> ends;  // in ids
  std::shared_ptr<arrow::Buffer> ids;
  int64_t num_ids = 0;
  int64_t num_truncated = 0;
  /// Where the rows came from, for their validity; row i is texts[first_row + i].
  const arrow::Array* texts = nullptr;
  int64_t first_row = 0;
};

/// Joins rows in their order: list<int32>, or large_list<int32> if there are more than 2^31 - 1
/// ids. Rows of null texts are null. Copies on up to `num_threads` threads, to memory of `pool`.
Result<std::shared_ptr<arrow::Array>> JoinRows(const std::vector<EncodedRows>& parts,
                                               int num_threads, IdBufferPool* pool);

}  // namespace easydata
