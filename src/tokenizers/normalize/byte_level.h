#pragma once

#include "tokenizers/normalize/normalizer.h"

namespace easydata::tokenizers {

/// Writes each byte as the character of GPT-2's alphabet that stands for it.
class ByteLevelNormalizer final : public Normalizer {
 public:
  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
};

}  // namespace easydata::tokenizers
