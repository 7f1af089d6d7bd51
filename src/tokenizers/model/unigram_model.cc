#include "tokenizers/model/unigram_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tokenizers/component_json.h"
#include "tokenizers/model/bpe_spec.h"
#include "tokenizers/model/score_text.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// The last piece of the best path to a position.
struct UnigramModel::Step {
  static constexpr uint32_t kUnreached = ~uint32_t{0};

  double score = 0;
  uint32_t begin = kUnreached;
  int32_t id = -1;
};

struct UnigramModel::Scratch final : ModelScratch {
  std::vector<Step> steps;     // by position
  std::vector<uint32_t> path;  // where its pieces end, from the last to the first
};

Result<std::unique_ptr<const UnigramModel>> UnigramModel::Make(object component,
                                                               std::string_view json) {
  std::unique_ptr<UnigramModel> model(new UnigramModel);
  ARROW_ASSIGN_OR_RAISE(array vocab, ArrayAt(component, "vocab", "model Unigram"));
  ARROW_RETURN_NOT_OK(model->ReadPieces(vocab));
  ARROW_ASSIGN_OR_RAISE(model->scores_, ReadScores(json));
  if (model->scores_.size() != model->token_of_id_.size()) {
    return Unsupported("model Unigram whose scores cannot be told");
  }
  if (const std::optional<element> unk = Find(component, "unk_id")) {
    ARROW_ASSIGN_OR_RAISE(model->unk_id_, IdOf(*unk, "model Unigram"));
    if (model->unk_id_ >= model->id_limit()) {
      return Unsupported("model Unigram whose unk_id is not in its vocab");
    }
  }
  if (HasKey(component, "byte_fallback")) {
    ARROW_ASSIGN_OR_RAISE(model->byte_fallback_,
                          BoolAt(component, "byte_fallback", "model Unigram"));
  }
  model->IndexPieces();
  return std::unique_ptr<const UnigramModel>(std::move(model));
}

Status UnigramModel::ReadPieces(array vocab) {
  for (element piece : vocab) {
    array pair;
    std::string_view token;
    if (piece.get_array().get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
        pair.at(0).get_string().get(token) != simdjson::SUCCESS || !pair.at(1).is_number()) {
      return Unsupported("model Unigram with a vocab that is not pairs of token and score");
    }
    if (static_cast<int64_t>(token_of_id_.size()) > kMaxTokenId) {
      return Unsupported("model Unigram of more than 2^24 pieces");
    }
    const auto id = static_cast<int32_t>(token_of_id_.size());
    const int32_t index = tokens_.Insert(token);
    token_of_id_.push_back(index);
    if (static_cast<size_t>(index) == id_of_token_.size()) {
      id_of_token_.push_back(id);
    } else {
      id_of_token_[index] = id;
    }
  }
  return Status::OK();
}

void UnigramModel::IndexPieces() {
  double min_score = std::numeric_limits<double>::infinity();
  for (const double score : scores_) min_score = std::min(min_score, score);
  unk_score_ = min_score - 10.0;
  std::vector<DoubleArray::Entry> entries;
  entries.reserve(id_of_token_.size());
  for (size_t i = 0; i < id_of_token_.size(); ++i) {
    entries.emplace_back(tokens_[static_cast<int64_t>(i)], id_of_token_[i]);
  }
  std::sort(entries.begin(), entries.end());
  pieces_ = DoubleArray(entries);
  for (int byte = 0; byte < 256; ++byte) {
    byte_ids_[byte] = TokenToId(ByteToken(static_cast<uint8_t>(byte)));
  }
}

std::unique_ptr<ModelScratch> UnigramModel::MakeScratch() const {
  return std::make_unique<Scratch>();
}

int32_t UnigramModel::TokenToId(std::string_view token) const {
  const int32_t index = tokens_.Find(token);
  return index < 0 ? -1 : id_of_token_[index];
}

std::optional<std::string_view> UnigramModel::IdToToken(int32_t id) const {
  if (id < 0 || id >= id_limit()) return std::nullopt;
  return tokens_[token_of_id_[id]];
}

Status UnigramModel::FindBestPath(std::string_view word, std::vector<Step>* steps) const {
  const size_t size = word.size();
  steps->assign(size + 1, Step());
  Step* const step = steps->data();
  const auto* const bytes = reinterpret_cast<const uint8_t*>(word.data());
  const auto improve = [&](size_t end, double score, size_t begin, int32_t id) {
    Step& target = step[end];
    if (target.begin != Step::kUnreached && !(score > target.score)) return false;
    target = {score, static_cast<uint32_t>(begin), id};
    return true;
  };
  for (size_t begin = 0; begin < size;) {
    const double score_here = step[begin].score;
    const auto length = static_cast<size_t>(utf8::Decode(word.data() + begin).length);
    bool is_piece = false;  // the character alone
    uint32_t node = DoubleArray::kRoot;
    for (size_t end = begin; end < size;) {
      node = pieces_.Child(node, bytes[end++]);
      if (node == DoubleArray::kNone) break;
      const int32_t id = pieces_.value(node);
      if (id < 0) continue;
      improve(end, scores_[id] + score_here, begin, id);
      is_piece = is_piece || end - begin == length;
    }
    if (!is_piece && improve(begin + length, unk_score_ + score_here, begin, unk_id_) &&
        unk_id_ < 0) {
      return Status::Invalid("the tokenizer's model (Unigram) has no piece for \"",
                             word.substr(begin, length),
                             "\" and names no unknown token; set unk_id in its file");
    }
    begin += length;
  }
  return Status::OK();
}

Status UnigramModel::EncodeWord(std::string_view word, ModelScratch* scratch, IdBuffer* ids) const {
  auto* memory = static_cast<Scratch*>(scratch);
  ARROW_RETURN_NOT_OK(FindBestPath(word, &memory->steps));
  const std::vector<Step>& steps = memory->steps;
  std::vector<uint32_t>& path = memory->path;
  path.clear();
  for (auto end = static_cast<uint32_t>(word.size()); end > 0; end = steps[end].begin) {
    path.push_back(end);
  }
  uint32_t begin = 0;
  for (size_t i = path.size(); i > 0; --i) {
    const int32_t id = steps[path[i - 1]].id;
    if (id == unk_id_) {
      if (i > 1 && steps[path[i - 2]].id == unk_id_) continue;  // one string with its neighbour
      AppendUnknown(word.substr(begin, path[i - 1] - begin), ids);
    } else {
      *ids->Reserve(1) = id;
      ids->Resize(ids->size() + 1);
    }
    begin = path[i - 1];
  }
  return Status::OK();
}

void UnigramModel::AppendUnknown(std::string_view text, IdBuffer* ids) const {
  int32_t* out = ids->Reserve(text.size() + 1);
  size_t count = 0;
  if (const int32_t id = pieces_.Find(text); id >= 0) {
    out[count++] = id;
  } else {
    if (byte_fallback_) {
      for (const char byte : text) {
        out[count] = byte_ids_[static_cast<uint8_t>(byte)];
        if (out[count] < 0) break;
        ++count;
      }
    }
    if (count < text.size()) {
      out[0] = unk_id_;
      count = 1;
    }
  }
  ids->Resize(ids->size() + count);
}

}  // namespace easydata::tokenizers
