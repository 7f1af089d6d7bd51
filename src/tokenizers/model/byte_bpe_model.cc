#include "tokenizers/model/byte_bpe_model.h"

namespace easydata::tokenizers {

struct ByteBpeModel::Scratch final : ModelScratch {
  MergeScratch merge;
};

std::unique_ptr<ModelScratch> ByteBpeModel::MakeScratch() const {
  return std::make_unique<Scratch>();
}

Status ByteBpeModel::EncodeWord(std::string_view word, ModelScratch* scratch, IdBuffer* ids) const {
  int32_t* out = ids->Reserve(word.size());
  const size_t count = model_->Encode(word, &static_cast<Scratch*>(scratch)->merge, out);
  ids->Resize(ids->size() + count);
  return Status::OK();
}

}  // namespace easydata::tokenizers
