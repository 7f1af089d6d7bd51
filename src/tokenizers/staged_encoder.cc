#include "tokenizers/staged_encoder.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace easydata::tokenizers {

StagedEncoder::StagedEncoder(const PreTokenizer* pre_tokenizer, const Model* model,
                             const Kernels* kernels, int64_t cache_bytes)
    : WordEncoder(kernels, cache_bytes),
      pre_tokenizer_(pre_tokenizer),
      model_(model),
      scratch_(model->MakeScratch()) {}

Status StagedEncoder::Encode(std::string_view piece, size_t origin, const char* readable_end,
                             size_t limit) {
  text_.Reset(piece, origin);
  if (pre_tokenizer_ != nullptr) {
    ARROW_RETURN_NOT_OK(pre_tokenizer_->PreTokenize(&text_));
    if (text_.text.data() != piece.data()) readable_end = text_.text.data() + text_.text.size();
  }
  const std::vector<Word>& words = text_.words;
  for (size_t done = 0; done < words.size() && ids().size() <= limit;) {
    const size_t count = std::min(words.size() - done, kWordsPerRound);
    const size_t bytes = words[done + count - 1].end - words[done].begin;
    int32_t* out = ids().Reserve(bytes * model_->max_ids_per_byte() + kSpareIds);
    const int32_t* end = kernels().encode_words(
        {text_.text.data(), words.data() + done, count, readable_end}, this, out);
    ids().Resize(ids().size() + static_cast<size_t>(end - out));
    if (!status_.ok()) return std::exchange(status_, Status::OK());
    done += count;
  }
  return Status::OK();
}

size_t StagedEncoder::EncodeNew(std::string_view word, int32_t* out) {
  word_ids_.Resize(0);
  const Status status = model_->EncodeWord(word, scratch_.get(), &word_ids_);
  if (!status.ok()) {
    if (status_.ok()) status_ = status;
    return kFailed;
  }
  std::copy_n(word_ids_.data(), word_ids_.size(), out);
  return word_ids_.size();
}

}  // namespace easydata::tokenizers
