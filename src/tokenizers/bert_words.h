#pragma once

#include <simdjson.h>

#include <memory>
#include <optional>

#include "tokenizers/normalize/bert_normalizer.h"
#include "tokenizers/pretokenize/pre_tokenizer.h"

namespace easydata::tokenizers {

/// BertNormalizer and BertPreTokenizer in one pass over text that is not normalized yet: 64 bytes
/// of ASCII at a time are lowercased, and cut where masks of white space and punctuation say; other
/// characters go through the normalizer, run by run.
class BertWords final : public PreTokenizer {
 public:
  /// nullptr unless `normalizer` is a BertNormalizer that cleans its text and `pre_tokenizer` a
  /// BertPreTokenizer and nothing more. `normalizer` outlives the result.
  static std::unique_ptr<const PreTokenizer> Make(
      const Normalizer* normalizer, const std::optional<simdjson::dom::element>& pre_tokenizer);

  explicit BertWords(const BertNormalizer* normalizer) : normalizer_(*normalizer) {}

  Status PreTokenize(PieceText* piece) const override;

 private:
  const BertNormalizer& normalizer_;
};

}  // namespace easydata::tokenizers
