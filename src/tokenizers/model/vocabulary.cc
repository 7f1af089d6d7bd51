#include "tokenizers/model/vocabulary.h"

#include <algorithm>

#include "tokenizers/component_json.h"
#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

Result<Vocabulary> Vocabulary::FromJson(simdjson::dom::object tokens) {
  Vocabulary vocabulary;
  const auto count = static_cast<int64_t>(tokens.size());  // saturates at 2^24 - 1
  vocabulary.tokens_.Reserve(count);
  vocabulary.ids_.reserve(count);
  for (auto [token, value] : tokens) {
    ARROW_ASSIGN_OR_RAISE(int32_t id, IdOf(value, "vocab"));
    const auto index = static_cast<size_t>(vocabulary.tokens_.Insert(token));
    if (index == vocabulary.ids_.size()) {
      vocabulary.ids_.push_back(id);
    } else {
      vocabulary.ids_[index] = id;
    }
  }
  vocabulary.IndexIds();
  return vocabulary;
}

void Vocabulary::IndexIds() {
  const int32_t max_id = ids_.empty() ? -1 : *std::max_element(ids_.begin(), ids_.end());
  index_of_id_.assign(static_cast<size_t>(max_id) + 1, -1);
  for (size_t i = 0; i < ids_.size(); ++i) {
    ids_are_unique_ = ids_are_unique_ && index_of_id_[ids_[i]] < 0;
    index_of_id_[ids_[i]] = static_cast<int32_t>(i);
  }
}

std::vector<uint32_t> Vocabulary::CountCharacters() const {
  std::vector<uint32_t> counts(index_of_id_.size());
  for (int64_t i = 0; i < size(); ++i) {
    const std::string_view token = tokens_[i];
    counts[static_cast<size_t>(ids_[i])] = static_cast<uint32_t>(utf8::CountCharacters(token));
  }
  return counts;
}

}  // namespace easydata::tokenizers
