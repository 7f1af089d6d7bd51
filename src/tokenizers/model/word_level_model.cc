#include "tokenizers/model/word_level_model.h"

#include "tokenizers/component_json.h"

namespace easydata::tokenizers {

Result<std::unique_ptr<const WordLevelModel>> WordLevelModel::Make(simdjson::dom::object model) {
  ARROW_ASSIGN_OR_RAISE(std::string_view unk, StringAt(model, "unk_token", "model WordLevel"));
  ARROW_ASSIGN_OR_RAISE(simdjson::dom::object vocab, ObjectAt(model, "vocab", "model WordLevel"));
  ARROW_ASSIGN_OR_RAISE(Vocabulary vocabulary, Vocabulary::FromJson(vocab));
  return std::unique_ptr<const WordLevelModel>(new WordLevelModel(std::move(vocabulary), unk));
}

Status WordLevelModel::EncodeWord(std::string_view word, ModelScratch*, IdBuffer* ids) const {
  int32_t id = vocabulary_.Find(word);
  if (id < 0) id = unk_id_;
  if (id < 0) {
    return Status::Invalid("the tokenizer's model (WordLevel) knows no token for \"", word,
                           "\", and its unk_token \"", unk_token_,
                           "\" is not in its vocabulary; add it there");
  }
  *ids->Reserve(1) = id;
  ids->Resize(ids->size() + 1);
  return Status::OK();
}

}  // namespace easydata::tokenizers
