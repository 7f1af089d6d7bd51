#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizers/encode_workers.h"
#include "tokenizers/tokenizer_plan.h"

namespace easydata::tokenizers {

/// A part of a text that is encoded by itself: an added token, or (id -1) a piece between them.
struct TextFragment {
  int32_t id;
  bool at_start;
  std::string_view text;
  bool is_rest = false;  // begins inside a piece
};

/// Cuts a long text into groups of fragments, each of about `group_bytes`, whose ids one after the
/// other are the text's: so several threads can work on it. One group when the text cannot be cut.
std::vector<std::vector<TextFragment>> CutText(const TokenizerPlan& plan, std::string_view text,
                                               size_t group_bytes, EncodeWorker* worker);

}  // namespace easydata::tokenizers
