#pragma once

#include <simdjson.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "easydata/base/status.h"

namespace easydata::tokenizers {

/// A normalizer of tokenizer.json: rewrites valid UTF-8 as the reference does. Immutable, safe to
/// share between threads; Normalize takes time linear in the text.
class Normalizer {
 public:
  virtual ~Normalizer() = default;

  /// Whether Normalize would surely return `text` unchanged; a fast check, which may say no.
  virtual bool IsInert(std::string_view text) const = 0;

  /// Replaces *out by the normal form of valid UTF-8 `text`; `out` is not `text`'s memory. Invalid
  /// where the reference crashes or fails.
  virtual Status Normalize(std::string_view text, std::string* out) const = 0;

  /// Whether Normalize may put text before the first character without tying it to a character: a
  /// Replace whose pattern matches nothing at the start of the text. The reference then loses its
  /// place in later steps, most often by crashing; NormalizeTracked says where.
  virtual bool may_insert() const { return false; }

  /// As Normalize for text whose first *inserted bytes were so inserted; sets *inserted to their
  /// number in *out. Call it with 0 for the text of a user.
  ///
  /// Steps after a normalizer that leaves inserted > 0 must handle it: where a pre-tokenizer
  /// rewrites a word by ByteLevel, the reference crashes if the word starts before `inserted` and
  /// ends after it; a word that ends by then comes out twice, mapped and then unmapped.
  virtual Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const;

  /// As Normalize for text whose first *origin bytes are tied to offset 0 of the user's text; sets
  /// *origin to how many bytes of *out are. The reference keeps for each character where it comes
  /// from, and asks that where a text begins. Not for normalizers that may_insert(). Here: what
  /// becomes of a character does not depend on others.
  virtual Status NormalizeWithOrigin(std::string_view text, size_t* origin, std::string* out) const;
};

/// The normalizer of tokenizer.json's "normalizer"; nullptr for null. NotImplemented for what the
/// reference might refuse.
Result<std::unique_ptr<const Normalizer>> MakeNormalizer(simdjson::dom::element component);

/// `normalizer`, but a text that it puts something before (may_insert) is Invalid: for a file whose
/// pre-tokenizer maps bytes, which crashes the reference then.
std::unique_ptr<const Normalizer> RefuseInsertions(std::unique_ptr<const Normalizer> normalizer);

}  // namespace easydata::tokenizers
