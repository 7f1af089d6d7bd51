#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "easydata/base/status.h"
#include "tokenizers/id_buffer.h"

namespace easydata::tokenizers {

/// The truncation of a tokenizer.json, as it concerns the ids of single texts.
struct Truncation {
  /// Largest number of ids, special tokens included.
  int64_t max_length = 0;
  /// Cut the text's beginning, not its end.
  bool left = false;
  /// Of parts that overflow, which are not kept here. The reference fails when it is not smaller
  /// than what may be kept of a text that is too long.
  int64_t stride = 0;
  /// Strategy "only_second": the reference fails for a single text that is too long.
  bool only_second = false;
};

/// Reads the `truncation` of a tokenizer.json; null gives nothing.
Result<std::optional<Truncation>> MakeTruncation(simdjson::dom::element component);

/// Number of ids of a text that are kept when `num_added` special tokens are added; nothing when
/// all are: the reference does not truncate when max_length is less than num_added.
std::optional<size_t> KeptIds(const Truncation& truncation, int64_t num_added);

/// Cuts the text whose ids are the last of `ids`, from `begin` on. Returns whether it was too long.
/// Invalid where the reference fails. One id more than KeptIds is enough to show that the text is
/// too long, unless the left is cut.
Result<bool> TruncateIds(const Truncation& truncation, int64_t num_added, size_t begin,
                         IdBuffer* ids);

}  // namespace easydata::tokenizers
