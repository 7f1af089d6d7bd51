#pragma once

#include <utility>

#include "tokenizers/normalize/normalizer.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

/// Puts a string before every text that is not empty.
class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  bool IsInert(std::string_view text) const override { return text.empty(); }
  /// The reference ties the first character to nothing when nothing is put before it.
  bool may_insert() const override { return prefix_.empty(); }
  Status Normalize(std::string_view text, std::string* out) const override {
    out->clear();
    if (!text.empty()) out->append(prefix_);
    out->append(text);
    return Status::OK();
  }
  Status NormalizeTracked(std::string_view text, size_t* inserted,
                          std::string* out) const override {
    if (*inserted > 0) {
      *inserted += prefix_.size();
    } else if (prefix_.empty() && !text.empty()) {
      *inserted = static_cast<size_t>(utf8::Decode(text.data()).length);
    }
    return Normalize(text, out);
  }
  Status NormalizeWithOrigin(std::string_view text, size_t* origin,
                             std::string* out) const override {
    if (*origin > 0) *origin += prefix_.size();
    return Normalize(text, out);
  }

 private:
  const std::string prefix_;
};

}  // namespace easydata::tokenizers
