#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tokenizers/normalize/normalizer.h"

namespace easydata::tokenizers {

/// Normalizers one after the other; those that a text is inert to are passed over.
class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> parts);

  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
  bool may_insert() const override { return may_insert_; }
  Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const override;
  Status NormalizeWithOrigin(std::string_view text, size_t* origin,
                             std::string* out) const override;

 private:
  // NormalizeTracked or NormalizeWithOrigin.
  using NormalizeHead = Status (Normalizer::*)(std::string_view, size_t*, std::string*) const;

  Status RunParts(std::string_view text, NormalizeHead normalize, size_t* head,
                  std::string* out) const;

  const std::vector<std::unique_ptr<const Normalizer>> parts_;
  bool may_insert_ = false;
};

}  // namespace easydata::tokenizers
