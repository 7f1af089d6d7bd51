#pragma once

#include "tokenizers/normalize/normalizer.h"

namespace easydata::tokenizers {

/// Cuts white space off the ends of a text.
class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}

  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
  Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const override;
  Status NormalizeWithOrigin(std::string_view text, size_t* origin,
                             std::string* out) const override;

 private:
  std::string_view Stripped(std::string_view text) const;

  const bool left_;
  const bool right_;
};

}  // namespace easydata::tokenizers
