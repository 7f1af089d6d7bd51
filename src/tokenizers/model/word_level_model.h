#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizers/model/model.h"
#include "tokenizers/model/vocabulary.h"

namespace easydata::tokenizers {

/// A word is its token, or the unknown token, or an error.
class WordLevelModel final : public Model {
 public:
  static Result<std::unique_ptr<const WordLevelModel>> Make(simdjson::dom::object model);

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
  WordLevelModel(Vocabulary vocabulary, std::string_view unk_token)
      : vocabulary_(std::move(vocabulary)),
        unk_token_(unk_token),
        unk_id_(vocabulary_.Find(unk_token)) {}

  Vocabulary vocabulary_;
  std::string unk_token_;
  int32_t unk_id_;  // -1: the vocabulary lacks it
};

}  // namespace easydata::tokenizers
