#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/model/metaspace_bpe.h"
#include "tokenizers/model/word_encoder.h"

namespace easydata::tokenizers {

/// Runs MetaspaceBpe: finds the parts of a piece as it stands and looks them up in a word cache.
/// The normalized text is never made.
class MetaspaceBpeEncoder final : public WordEncoder {
 public:
  MetaspaceBpeEncoder(const MetaspaceBpe* bpe, const Kernels* kernels, int64_t cache_bytes);

  Status Encode(std::string_view piece, size_t origin, const char* readable_end,
                size_t limit) override;
  Status EncodeRest(std::string_view part, const char* readable_end, size_t limit) override;
  size_t FindCut(std::string_view piece, size_t from) const override {
    return bpe_->FindCut(piece, from);
  }

 private:
  // Of lone characters in one round.
  static constexpr size_t kLoneBytes = 4096;

  bool Prepends(std::string_view piece, bool at_start) const;
  size_t EncodeNew(std::string_view word, int32_t* out) override;

  const MetaspaceBpe* bpe_;
  MergeScratch scratch_;
  std::string prefixed_;
  uint32_t ends_[kWordsPerRound];
};

}  // namespace easydata::tokenizers
