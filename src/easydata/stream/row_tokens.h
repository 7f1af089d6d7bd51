#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"

namespace easydata {

/// The column of LLMBatch rows that is 0 where there is no target: what is left are their tokens.
constexpr const char* kLiveTargetsColumn = "targets_segmentation";

/// Whether rows have lists in `column` to count, or are JSON that may have them.
bool MayHaveTokens(const arrow::Schema& schema, const std::string& column);

/// Counts the tokens of each row: the values of its list in `column`, none where it is null. JSON,
/// which has no schema, is parsed; a TypeError with the row's address where a whole row has no such
/// key, or no list there. Nothing for rows that cannot have any.
Result<std::vector<int64_t>> RowTokens(const Batch& batch, const std::string& column);
/// The same for the rows named by `rows`, in that order.
Result<std::vector<int64_t>> RowTokens(const Batch& batch, const std::string& column,
                                       const std::vector<int64_t>& rows);

}  // namespace easydata
