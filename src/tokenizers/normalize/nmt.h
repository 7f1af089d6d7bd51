#pragma once

#include "tokenizers/normalize/normalizer.h"

namespace easydata::tokenizers {

/// The Nmt normalizer: drops some control characters and makes others, and some that look like
/// them, spaces.
class Nmt final : public Normalizer {
 public:
  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
};

}  // namespace easydata::tokenizers
