#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizers/model/double_array.h"
#include "tokenizers/model/model.h"
#include "tokenizers/model/vocabulary.h"

namespace easydata::tokenizers {

/// The longest token that starts the word, then the longest that continues it, to its end; where
/// none fits, and for a word of too many characters, the whole word is the unknown token.
class WordPieceModel final : public Model {
 public:
  static Result<std::unique_ptr<const WordPieceModel>> Make(simdjson::dom::object model);

  std::unique_ptr<ModelScratch> MakeScratch() const override {
    return std::make_unique<ModelScratch>();
  }
  Status EncodeWord(std::string_view word, ModelScratch* scratch, IdBuffer* ids) const override;
  int64_t size() const override { return vocabulary_.size(); }
  int64_t id_limit() const override { return vocabulary_.id_limit(); }
  int32_t TokenToId(std::string_view token) const override { return vocabulary_.Find(token); }
  std::optional<std::string_view> IdToToken(int32_t id) const override {
    return vocabulary_.IdToToken(id);
  }

 private:
  WordPieceModel() = default;

  // Writes the ids of a word to `out`; returns their number, 0 where the word is unknown.
  size_t EncodeKnown(std::string_view word, int32_t* out) const;

  Vocabulary vocabulary_;
  std::string unk_token_;
  int32_t unk_id_ = -1;  // -1: the vocabulary lacks it
  uint64_t max_characters_ = 0;
  DoubleArray first_;       // all tokens
  DoubleArray continuing_;  // tokens with the prefix, without it
};

}  // namespace easydata::tokenizers
