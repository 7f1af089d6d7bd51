#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/id_buffer.h"

namespace easydata::tokenizers {

/// The ids that a post-processor puts around a text, which it may repeat or leave out.
struct TextLayout {
  /// One element more than there are copies of the text: the ids before the first copy, those
  /// between copies, those after the last.
  std::vector<std::vector<int32_t>> constants = {{}, {}};

  /// Why the reference fails for every text; empty when it does not.
  std::string fault;

  /// Whether the text comes exactly once, between constants[0] and constants[1].
  bool WrapsOnce() const { return constants.size() == 2 && fault.empty(); }
};

/// The effect of a tokenizer.json's post-processor on the ids of a single text.
struct PostProcessing {
  TextLayout with_special;
  TextLayout without_special;

  /// The number of special tokens that truncation leaves room for, when they are added. As with the
  /// reference, it need not be the number that with_special has.
  int64_t num_added = 0;

  const TextLayout& layout(bool add_special_tokens) const {
    return add_special_tokens ? with_special : without_special;
  }
};

/// Reads a post-processor; null gives one that adds nothing. Its kind follows from its fields, as
/// in the reference: `sep` and `cls` make it BERT's or RoBERTa's whatever `type` says.
/// NotImplemented for what the reference would not load and for ids beyond int32.
Result<PostProcessing> MakePostProcessor(simdjson::dom::element component);

/// Lays out the text whose ids are the last of `ids`, from `begin` on, in their place. Invalid
/// where the reference fails.
Status LayOutText(const TextLayout& layout, size_t begin, IdBuffer* ids);

}  // namespace easydata::tokenizers
