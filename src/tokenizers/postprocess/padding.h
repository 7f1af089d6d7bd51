#pragma once

#include <arrow/type_fwd.h>
#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "easydata/base/status.h"
#include "tokenizers/id_buffer.h"

namespace easydata::tokenizers {

/// The padding of a tokenizer.json, as it concerns ids.
struct Padding {
  /// Every text is filled up to this length; nothing: to the longest of its batch.
  std::optional<int64_t> fixed;
  /// The length is rounded up to a multiple of this; 0: as it is.
  int64_t multiple_of = 0;
  /// Pad before the text, not after it.
  bool left = false;
  int32_t id = 0;
};

/// Reads the `padding` of a tokenizer.json; null gives nothing.
Result<std::optional<Padding>> MakePadding(simdjson::dom::element component);

/// The length that the texts of a batch whose longest has `longest` ids are filled up to. Longer
/// texts stay.
int64_t PaddedLength(const Padding& padding, int64_t longest);

/// Fills up the text whose ids are the last of `ids`, from `begin` on.
void PadIds(const Padding& padding, int64_t length, size_t begin, IdBuffer* ids);

/// Fills up the rows of a list<int32> or large_list<int32> array, which make one batch; null rows
/// stay. The result has the same type, or large_list when there are more than 2^31 - 1 ids.
Result<std::shared_ptr<arrow::Array>> PadLists(const Padding& padding,
                                               const std::shared_ptr<arrow::Array>& lists);

}  // namespace easydata::tokenizers
