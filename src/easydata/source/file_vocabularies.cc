#include "easydata/source/file_vocabularies.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>

#include "easydata/stream/vocabulary.h"

namespace easydata::source {
std::optional<std::string> FileVocabularies::Get(size_t shard) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_shard_.find(shard);
  if (found == by_shard_.end()) return std::nullopt;
  return texts_[found->second];
}

std::string FileVocabularies::Note(size_t shard, const std::string& text) {
  std::lock_guard<std::mutex> lock(mutex_);
  by_shard_[shard] = NumberOf(text);
  return text;
}

Status FileVocabularies::Check(size_t shard, const std::string& text, const arrow::Schema& schema,
                               const std::vector<std::string>& files) {
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t number = NumberOf(text);
  by_shard_[shard] = number;
  if (text.empty() || !MayHaveTokens(schema)) return Status::OK();
  read_.emplace(number, shard);
  if (read_.size() == 1) return Status::OK();
  const Vocabularies own = VocabulariesFromText(text, files[shard]);
  for (const auto& [other_number, other_shard] : read_) {
    if (other_number == number) continue;
    const Vocabularies other = VocabulariesFromText(texts_[other_number], files[other_shard]);
    for (const VocabularyPtr& one : own.known) {
      for (const VocabularyPtr& two : other.known) {
        if (one->fingerprint == two->fingerprint) continue;
        return Status::Invalid(
            files[shard], " has tokens of another tokenizer than ", files[other_shard],
            ", of the same source: an id means one token here and another there; tokenize the text "
            "of both with one, or mix them as two datasets with allow_vocabularies=True, where "
            "that is meant: ",
            one->Shown(), " and ", two->Shown());
      }
    }
  }
  return Status::OK();
}

size_t FileVocabularies::NumberOf(const std::string& text) {
  const auto found = std::find(texts_.begin(), texts_.end(), text);
  if (found == texts_.end()) {
    texts_.push_back(text);
    return texts_.size() - 1;
  }
  return found - texts_.begin();
}

std::string VocabularyTextOf(const arrow::KeyValueMetadata* metadata) {
  return metadata == nullptr ? "" : metadata->Get(kVocabularyKey).ValueOr("");
}

}  // namespace easydata::source
