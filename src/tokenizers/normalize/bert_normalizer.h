#pragma once

#include <cstdint>
#include <vector>

#include "tokenizers/code_point_table.h"
#include "tokenizers/normalize/normalizer.h"
#include "tokenizers/normalize/text_sink.h"

namespace easydata::tokenizers {

/// The flags of a BertNormalizer.
struct BertOptions {
  bool clean_text;
  bool handle_chinese_chars;
  bool strip_accents;
  bool lowercase;
};

/// BERT's normalizer: drops control characters and makes white space spaces, puts spaces around
/// Chinese characters, decomposes and drops accents, lowercases; each step by a flag.
///
/// All steps are done at once by a table of what becomes of each character. Only marks that
/// strip_accents keeps (newer than the reference's list of accents) have to be put in order.
class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const BertOptions& options);

  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
  Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const override;
  Status NormalizeWithOrigin(std::string_view text, size_t* origin,
                             std::string* out) const override;

  const BertOptions& options() const { return options_; }

 private:
  enum Action : uint8_t { kKeep, kDrop, kSpace, kPad, kMap, kOrder };

  // A text in pool_.
  struct Span {
    uint32_t offset;
    uint32_t size;
  };

  void Learn(char32_t c);
  const char* NormalizeOthers(const char* p, const char* end, TextSink* sink) const;
  const char* OrderMarks(const char* p, const char* end, TextSink* sink) const;
  template <typename Emit>
  void Lower(char32_t c, Emit emit) const;

  const BertOptions options_;
  char ascii_[128];  // what becomes of a byte
  bool ascii_kept_[128];
  CodePointTable<uint8_t> actions_;
  CodePointTable<uint16_t> maps_;  // of kMap: index into spans_
  std::vector<Span> spans_;
  std::string pool_;
};

}  // namespace easydata::tokenizers
