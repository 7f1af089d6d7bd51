#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tokenizers/model/bpe_model.h"
#include "tokenizers/model/model.h"

namespace easydata::tokenizers {

/// Byte-level byte-pair encoding, as a Model of raw bytes.
class ByteBpeModel final : public Model {
 public:
  explicit ByteBpeModel(std::unique_ptr<const BpeModel> model) : model_(std::move(model)) {}

  std::unique_ptr<ModelScratch> MakeScratch() const override;
  Status EncodeWord(std::string_view word, ModelScratch* scratch, IdBuffer* ids) const override;
  int64_t size() const override { return model_->vocabulary().size(); }
  int64_t id_limit() const override { return model_->vocabulary().id_limit(); }
  int32_t TokenToId(std::string_view token) const override {
    return model_->vocabulary().Find(token);
  }
  std::optional<std::string_view> IdToToken(int32_t id) const override {
    return model_->vocabulary().IdToToken(id);
  }

  /// The model itself, for WordEncoder.
  const BpeModel& bpe() const { return *model_; }

 private:
  struct Scratch;

  std::unique_ptr<const BpeModel> model_;
};

}  // namespace easydata::tokenizers
