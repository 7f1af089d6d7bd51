#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "easydata/base/named_value.h"
#include "easydata/base/status.h"
#include "easydata/stream/batch_op.h"

namespace easydata::transform {

/// Decides what becomes of a document with more tokens than a row has.
enum class LongDocument {
  kTruncate,  // keeps its first tokens; counted
  kSplit,     // goes on in the next rows
  kError,     // ends the stream with its address
};

std::span<const NamedValue<LongDocument>> NamesOf(LongDocument);

struct EndDocumentsOptions {
  int64_t max_length = 0;
  /// Put before and behind every document.
  std::optional<int32_t> bos = {};
  std::optional<int32_t> eos = {};
  /// Put behind a document that has room for it; not behind an `eos` that is the same token.
  std::optional<int32_t> eod = {};
  LongDocument overlong = LongDocument::kError;
};

/// Puts tokens around documents, as xlstm_jax's AddEODToken does: the column `input_ids` of
/// list<int32>, of at most `max_length` tokens each. Other columns stay as they are.
Result<std::shared_ptr<const BatchOp>> EndDocuments(const EndDocumentsOptions& options);

}  // namespace easydata::transform
