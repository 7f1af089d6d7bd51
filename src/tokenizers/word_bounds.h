#pragma once

#include <cstddef>
#include <cstdint>

#include "tokenizers/kernels.h"
#include "tokenizers/pretokenize/pre_tokenizer.h"

namespace easydata::tokenizers {

/// Walks over the words of a run, one after the other: the same loops serve words that touch, of
/// which only the ends are kept, and words with gaps.
template <typename Run>
class WordBounds;

template <>
class WordBounds<PretokenRun> {
 public:
  explicit WordBounds(const PretokenRun& run)
      : ends_(run.ends), begin_(static_cast<uint32_t>(run.begin)) {}

  Word Next(size_t i) {
    const uint32_t begin = begin_;
    begin_ = ends_[i];
    return {begin, begin_};
  }

 private:
  const uint32_t* ends_;
  uint32_t begin_;
};

template <>
class WordBounds<WordRun> {
 public:
  explicit WordBounds(const WordRun& run) : words_(run.words) {}

  Word Next(size_t i) const { return words_[i]; }

 private:
  const Word* words_;
};

}  // namespace easydata::tokenizers
