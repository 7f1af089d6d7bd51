#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tokenizers/pretokenize/pre_tokenizer.h"

namespace easydata::tokenizers {

/// What becomes of the matches of a pattern and of the text between them.
enum class SplitBehavior : uint8_t {
  kRemoved,             // matches are dropped
  kIsolated,            // every match is a word
  kMergedWithPrevious,  // a match goes to the text before it
  kMergedWithNext,      // a match goes to the text after it
  kContiguous,          // matches that touch are one word
};

/// Makes words out of the matches of a pattern, as the reference does: the text falls into matches
/// and what lies between them, and those stretches are joined or dropped. Empty matches are
/// stretches, too, but never words.
class WordCutter {
 public:
  /// `invert`: the text between matches counts as the matches.
  WordCutter(SplitBehavior behavior, bool invert, std::vector<Word>* words)
      : behavior_(behavior), invert_(invert), words_(words) {}

  /// Starts a text at `begin`.
  void Start(size_t begin) {
    done_ = begin;
    previous_is_match_ = false;
    has_current_ = false;
  }

  /// A match after those before it.
  void AddMatch(size_t begin, size_t end) {
    if (begin != done_) AddStretch(done_, begin, invert_);
    AddStretch(begin, end, !invert_);
    done_ = end;
  }

  void Finish(size_t end) {
    if (end != done_) AddStretch(done_, end, invert_);
    if (has_current_) Emit(current_begin_, current_end_);
  }

 private:
  void AddStretch(size_t begin, size_t end, bool is_match) {
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (!is_match) Emit(begin, end);
        return;
      case SplitBehavior::kIsolated:
        Emit(begin, end);
        return;
      case SplitBehavior::kContiguous:
        Continue(begin, end, is_match == previous_is_match_);
        break;
      case SplitBehavior::kMergedWithPrevious:
        Continue(begin, end, is_match && !previous_is_match_);
        break;
      case SplitBehavior::kMergedWithNext:
        // Joins a match before it.
        Continue(begin, end, !is_match && previous_is_match_);
        break;
    }
    previous_is_match_ = is_match;
  }

  void Continue(size_t begin, size_t end, bool joins) {
    if (has_current_ && !joins) Emit(current_begin_, current_end_);
    if (!has_current_ || !joins) current_begin_ = begin;
    current_end_ = end;
    has_current_ = true;
  }

  void Emit(size_t begin, size_t end) {
    if (begin != end) words_->push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  }

  const SplitBehavior behavior_;
  const bool invert_;
  std::vector<Word>* const words_;
  size_t done_ = 0;
  bool previous_is_match_ = false;
  bool has_current_ = false;
  size_t current_begin_ = 0;
  size_t current_end_ = 0;
};

}  // namespace easydata::tokenizers
