#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizers/normalize/alignment.h"
#include "tokenizers/normalize/form_data.h"
#include "tokenizers/normalize/normalizer.h"

namespace easydata::tokenizers {

/// One of the four Unicode normalization forms with the reference's data (Unicode 9; Unicode
/// Standard Annex 15).
///
/// A quick check passes over text that is in the form already (nearly all text); only stretches
/// around characters that may change are decomposed, ordered and composed.
class UnicodeForm final : public Normalizer {
 public:
  enum Kind { kNfc, kNfd, kNfkc, kNfkd };

  explicit UnicodeForm(Kind kind);

  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
  Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const override;
  Status NormalizeWithOrigin(std::string_view text, size_t* origin,
                             std::string* out) const override;

  /// The form of `text` with the changes that the reference's alignments are made of. Slow.
  std::vector<Change> Changes(std::string_view text) const;

 private:
  struct Mark {
    char32_t character;
    uint8_t combining_class;
    int8_t change;  // of Change; no composite stands for more than 128 characters
  };

  const char* SkipInert(const char* p, const char* end) const;
  const char* FindChange(const char* p, const char* end, const char** safe) const;
  const char* FindBoundary(const char* p, const char* end) const;
  void Decompose(std::string_view segment, std::vector<Mark>* marks) const;
  void Compose(std::vector<Mark>* marks) const;

  const FormData& data_;
  const bool composes_;
  const bool compatible_;
  const uint16_t unsafe_;  // bits of data_ of what may change or join what is before it
  // By byte: no character that starts with it has data that matters. True within characters.
  bool is_inert_[256] = {};
};

}  // namespace easydata::tokenizers
