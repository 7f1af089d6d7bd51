#pragma once

#include <string>
#include <string_view>

namespace easydata {

/// Unicode normalization form C with the reference's data (Unicode 9).
///
/// Text without characters that NFC could act on (nearly all text) is told by one look at each
/// character; only the stretches around such characters are decomposed, ordered and composed
/// (Unicode Standard Annex 15).
class NfcNormalizer {
 public:
  static const NfcNormalizer& Get();

  /// Whether the valid UTF-8 `text` has no character that NFC could act on.
  static bool IsInert(std::string_view text);

  /// Replaces `*out` by the NFC of valid UTF-8 `text`.
  void Normalize(std::string_view text, std::string* out) const;

 private:
  struct Tables;

  NfcNormalizer();
  ~NfcNormalizer();

  void NormalizeSegment(std::string_view segment, std::string* out) const;

  const Tables* tables_;
};

}  // namespace easydata
