#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/model/bpe_model.h"
#include "tokenizers/model/part_encoder.h"
#include "tokenizers/model/safe_cuts.h"
#include "tokenizers/model/word_encoder.h"

namespace easydata::tokenizers {

/// Byte-level byte-pair encoding of text that a known pattern cuts: the fast path of most
/// tokenizers.
class ByteLevelEncoder final : public WordEncoder {
 public:
  /// `add_prefix_space`: a piece that does not start with a space gets one. `cuts` may be nullptr.
  ByteLevelEncoder(const BpeModel* model, SplitPattern pattern, bool add_prefix_space,
                   const SafeCuts* cuts, const Kernels* kernels, int64_t cache_bytes);

  Status Encode(std::string_view piece, size_t origin, const char* readable_end,
                size_t limit) override;
  size_t FindCut(std::string_view piece, size_t from) const override;

 private:
  size_t EncodeNew(std::string_view word, int32_t* out) override;

  const BpeModel* model_;
  SplitFunction split_;
  bool add_prefix_space_;
  std::string prefixed_;
  MergeScratch scratch_;
  PartEncoder parts_;
  uint32_t ends_[kWordsPerRound];
};

}  // namespace easydata::tokenizers
