#pragma once

#include <cstdint>

#include "tokenizers/code_point_table.h"
#include "tokenizers/normalize/charsmap.h"
#include "tokenizers/normalize/normalizer.h"

namespace easydata::tokenizers {

/// SentencePiece's normalizer as the reference runs it: each grapheme cluster of less than six
/// bytes is replaced by what the map has for it, else each of its characters.
class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(Charsmap map);

  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
  Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const override;
  Status NormalizeWithOrigin(std::string_view text, size_t* origin,
                             std::string* out) const override;

 private:
  const char* SkipPlain(const char* p, const char* end) const;
  template <typename Writer>
  Status Rewrite(std::string_view text, Writer* writer) const;
  template <typename Writer>
  Status RewriteCluster(std::string_view cluster, Writer* writer) const;

  const Charsmap map_;
  // Characters (below U+10000) that stand for themselves, and of which none joins the one before it
  // or, but for its marks, the one after it.
  CodePointTable<uint8_t> plain_;
  bool plain_ascii_[256] = {};  // false for bytes that are not ASCII
};

}  // namespace easydata::tokenizers
