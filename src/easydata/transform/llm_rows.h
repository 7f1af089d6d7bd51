#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "easydata/base/status.h"
#include "easydata/stream/batch_op.h"

namespace easydata::transform {

struct LlmRowsOptions {
  int64_t length = 0;
  /// Stands before the first token of shifted inputs, and begins a segment of unpacked rows.
  int32_t eod = 0;
  /// Gives inputs that are one token behind the targets.
  bool shifts = true;
  /// The rows are a packer's with PackWiring::grain_numbers (input_ids, segment_ids,
  /// position_ids), not documents.
  bool is_packed = false;
  /// A column of bool that says which documents fill a batch up: their rows are masked whole.
  std::string padding_column = {};
};

/// Makes the rows of xlstm_jax's LLMBatch: inputs, targets, and the segmentation and position of
/// each, fixed_size_list<int32>[length], 0 where there is no token.
///
/// Targets are the tokens; inputs are the same, or `eod` and all but the last. Segments are
/// numbered from 1, and positions restart in each. Those of packed rows are the packer's; in others
/// a segment begins with every `eod` of the inputs.
Result<std::shared_ptr<const BatchOp>> LlmRows(const LlmRowsOptions& options);

}  // namespace easydata::transform
