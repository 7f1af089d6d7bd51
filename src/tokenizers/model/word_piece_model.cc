#include "tokenizers/model/word_piece_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tokenizers/component_json.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

// The tokens that start with `prefix`, without it.
DoubleArray MakeTrie(const Vocabulary& vocabulary, std::string_view prefix) {
  std::vector<DoubleArray::Entry> entries;
  entries.reserve(vocabulary.size());
  for (int64_t i = 0; i < vocabulary.size(); ++i) {
    const std::string_view token = vocabulary.tokens()[i];
    if (token.starts_with(prefix)) {
      entries.emplace_back(token.substr(prefix.size()), vocabulary.id_at(i));
    }
  }
  std::sort(entries.begin(), entries.end());
  return DoubleArray(entries);
}

}  // namespace

Result<std::unique_ptr<const WordPieceModel>> WordPieceModel::Make(simdjson::dom::object model) {
  std::unique_ptr<WordPieceModel> made(new WordPieceModel);
  ARROW_ASSIGN_OR_RAISE(made->unk_token_, StringAt(model, "unk_token", "model WordPiece"));
  ARROW_ASSIGN_OR_RAISE(std::string_view prefix,
                        StringAt(model, "continuing_subword_prefix", "model WordPiece"));
  const std::optional<simdjson::dom::element> limit = Find(model, "max_input_chars_per_word");
  if (!limit || limit->get_uint64().get(made->max_characters_) != simdjson::SUCCESS) {
    return Unsupported("model WordPiece without max_input_chars_per_word");
  }
  ARROW_ASSIGN_OR_RAISE(simdjson::dom::object vocab, ObjectAt(model, "vocab", "model WordPiece"));
  ARROW_ASSIGN_OR_RAISE(made->vocabulary_, Vocabulary::FromJson(vocab));
  made->unk_id_ = made->vocabulary_.Find(made->unk_token_);
  made->first_ = MakeTrie(made->vocabulary_, "");
  made->continuing_ = MakeTrie(made->vocabulary_, prefix);
  return std::unique_ptr<const WordPieceModel>(std::move(made));
}

size_t WordPieceModel::EncodeKnown(std::string_view word, int32_t* out) const {
  if (word.size() > max_characters_ && utf8::CountCharacters(word) > max_characters_) return 0;
  size_t count = 0;
  for (size_t begin = 0; begin < word.size();) {
    const DoubleArray& tokens = begin == 0 ? first_ : continuing_;
    size_t longest = begin;
    uint32_t node = DoubleArray::kRoot;
    for (size_t end = begin; end < word.size();) {
      node = tokens.Child(node, static_cast<uint8_t>(word[end++]));
      if (node == DoubleArray::kNone) break;
      if (tokens.value(node) < 0) continue;
      longest = end;
      out[count] = tokens.value(node);
    }
    if (longest == begin) return 0;
    ++count;
    begin = longest;
  }
  return count;
}

Status WordPieceModel::EncodeWord(std::string_view word, ModelScratch*, IdBuffer* ids) const {
  int32_t* out = ids->Reserve(word.size());
  size_t count = EncodeKnown(word, out);
  if (count == 0) {
    if (unk_id_ < 0) {
      return Status::Invalid("the tokenizer's model (WordPiece) knows no tokens for \"", word,
                             "\", and its unk_token \"", unk_token_,
                             "\" is not in its vocabulary; add it there");
    }
    out[count++] = unk_id_;
  }
  ids->Resize(ids->size() + count);
  return Status::OK();
}

}  // namespace easydata::tokenizers
