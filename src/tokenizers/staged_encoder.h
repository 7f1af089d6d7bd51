#pragma once

#include <memory>
#include <string_view>

#include "tokenizers/model/model.h"
#include "tokenizers/model/word_encoder.h"
#include "tokenizers/pretokenize/pre_tokenizer.h"

namespace easydata::tokenizers {

/// Runs any pre-tokenizer and any model, one after the other, with a word cache between them.
class StagedEncoder final : public WordEncoder {
 public:
  /// `pre_tokenizer` may be nullptr: each piece is one word.
  StagedEncoder(const PreTokenizer* pre_tokenizer, const Model* model, const Kernels* kernels,
                int64_t cache_bytes);

  Status Encode(std::string_view piece, size_t origin, const char* readable_end,
                size_t limit) override;

 private:
  size_t EncodeNew(std::string_view word, int32_t* out) override;

  const PreTokenizer* pre_tokenizer_;
  const Model* model_;
  std::unique_ptr<ModelScratch> scratch_;
  PieceText text_;
  IdBuffer word_ids_;
  Status status_;  // of the words of one call
};

}  // namespace easydata::tokenizers
