#include <utility>

#include "tokenizers/component_json.h"
#include "tokenizers/model/bpe_model.h"
#include "tokenizers/model/byte_bpe_model.h"
#include "tokenizers/model/char_bpe_model.h"
#include "tokenizers/model/model.h"
#include "tokenizers/model/unigram_model.h"
#include "tokenizers/model/word_level_model.h"
#include "tokenizers/model/word_piece_model.h"

namespace easydata::tokenizers {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// The kind that the reference gives a model without a type: the first whose fields are all there.
std::string_view GuessModel(object model) {
  const auto has = [&](std::string_view key) { return Find(model, key).has_value(); };
  if (has("merges")) return "BPE";
  if (has("unk_token")) {
    return has("continuing_subword_prefix") || has("max_input_chars_per_word") ? "WordPiece"
                                                                               : "WordLevel";
  }
  return "Unigram";
}

Result<std::unique_ptr<const Model>> MakeBpe(object model, const ModelOptions& options) {
  ARROW_ASSIGN_OR_RAISE(BpeSpec spec, ParseBpe(model));
  if (options.words_are_bytes && BpeModel::Takes(spec)) {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<const BpeModel> bpe,
                          BpeModel::Make(std::move(spec), options.merge));
    return std::make_unique<const ByteBpeModel>(std::move(bpe));
  }
  return CharBpeModel::Make(std::move(spec), options.words_are_bytes);
}

}  // namespace

Result<std::unique_ptr<const Model>> MakeModel(element component, const ModelOptions& options) {
  ARROW_ASSIGN_OR_RAISE(object model, AsObject(component, "model"));
  int types = 0;
  for (const auto [key, value] : model) types += key == "type" ? 1 : 0;
  if (types > 1) return Unsupported("model with two types");
  std::string_view type = GuessModel(model);
  if (types == 1) {
    ARROW_ASSIGN_OR_RAISE(type, StringAt(model, "type", "model"));
  }
  if (type == "BPE") return MakeBpe(model, options);
  if (options.words_are_bytes) {
    return Unsupported("byte-level pre_tokenizer before a model ", type);
  }
  if (type == "WordPiece") return WordPieceModel::Make(model);
  if (type == "WordLevel") return WordLevelModel::Make(model);
  if (type == "Unigram") return UnigramModel::Make(model, options.json);
  return Unsupported("model of type ", type);
}

}  // namespace easydata::tokenizers
