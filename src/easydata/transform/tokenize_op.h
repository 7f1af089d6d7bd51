#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/config/field.h"
#include "easydata/stream/batch_op.h"
#include "tokenizers/tokenizer.h"

namespace easydata::transform {

struct TokenizeOptions {
  static constexpr const char* kName = "TokenizeOptions";
  static constexpr const char* kDoc = "How a column of texts becomes tokens.";
  static constexpr const char* kNodes[] = {"tokenize"};

  /// The column of texts (string, large_string, string_view, or a dictionary of them).
  std::string column = "text";
  tokenizers::EncodeOptions encode = {};
  /// Also gives `attention_mask`: 1 for each token, 0 for padding.
  bool attention_mask = true;
  /// Shorter rows are filled up to this many tokens with `pad_id`; 0 means not at all.
  int64_t pad_to = 0;
  int32_t pad_id = 0;
  bool pad_left = false;
  /// Columns to keep, after the ids, as far as the batch has them.
  std::vector<std::string> keep = {};
  /// Leaves rows without a text out and counts them, instead of failing.
  bool skip_missing = false;
  /// At most this many texts are given to the encoder at once, and by this many threads at a time;
  /// 0 means any number. Neither changes the output.
  int64_t rows_per_call = 0;
  int max_threads = 0;

  static config::FieldList Fields();
};

/// Tokenizes: `input_ids` list<int32>, `attention_mask` list<int32>, and the columns to keep.
///
/// A row without a text is an error of that row (or dropped, reason "missing"); an empty text is a
/// text. Documents that `max_length` cut are counted in Batch::dropped with the reason "truncated"
/// and the tokens that they lost; no rows are lost: its `rows` are documents.
Result<std::shared_ptr<const BatchOp>> TokenizeOp(
    std::shared_ptr<const tokenizers::TextEncoder> encoder, TokenizeOptions options);

/// The reason under which cut documents are counted.
inline constexpr const char kTruncatedReason[] = "truncated";

}  // namespace easydata::transform
