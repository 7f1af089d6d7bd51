#pragma once

#include "tokenizers/normalize/normalizer.h"

namespace easydata::tokenizers {

/// Drops combining marks, as the reference's normalization crate knows them.
class StripAccents final : public Normalizer {
 public:
  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
  Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const override;
};

}  // namespace easydata::tokenizers
