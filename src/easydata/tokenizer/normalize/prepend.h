#pragma once

#include <utility>

#include "easydata/tokenizer/normalize/normalizer.h"

namespace easydata {

/// Puts a string before every text that is not empty.
class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  bool IsInert(std::string_view text) const override { return text.empty() || prefix_.empty(); }
  Status Normalize(std::string_view text, std::string* out) const override {
    out->clear();
    if (!text.empty()) out->append(prefix_);
    out->append(text);
    return Status::OK();
  }
  Status NormalizeTracked(std::string_view text, size_t* inserted,
                          std::string* out) const override {
    if (*inserted > 0) *inserted += prefix_.size();
    return Normalize(text, out);
  }

 private:
  const std::string prefix_;
};

}  // namespace easydata
