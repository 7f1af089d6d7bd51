#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/model/bpe_spec.h"
#include "tokenizers/model/merge_list.h"
#include "tokenizers/model/merge_tables.h"
#include "tokenizers/model/string_table.h"
#include "tokenizers/model/vocabulary.h"
#include "tokenizers/model/word_table.h"

namespace easydata::tokenizers {

/// Byte-level byte-pair encoding of single pretokens, given as raw bytes. Immutable.
///
/// As the reference does it: the pretoken's bytes become symbols, a byte that the vocabulary lacks
/// vanishes and its neighbours meet; then the pair of neighbours with the lowest rank in the merge
/// list is joined, the leftmost first, until no pair is in the list.
class BpeModel {
 public:
  /// Whether this class does what `spec` says of raw bytes; CharBpeModel does the rest.
  static bool Takes(const BpeSpec& spec);

  /// Makes the model of a spec that it takes.
  static Result<std::unique_ptr<const BpeModel>> Make(BpeSpec spec,
                                                      MergeFunction merge = MergeScalar);

  /// Writes the ids of a pretoken to `out`, which has room for word.size() of them. Returns their
  /// number.
  size_t Encode(std::string_view word, MergeScratch* scratch, int32_t* out) const;

  /// With ignore_merges, the id of a pretoken that is a token; else -1.
  int32_t FindWord(std::string_view word) const;

  /// Encode by merging alone: with ignore_merges, a part of a pretoken is no word.
  size_t EncodePart(std::string_view part, MergeScratch* scratch, int32_t* out) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  const MergeList& merges() const { return merges_; }

  /// Whether the vocabulary has a token for every byte.
  bool knows_all_bytes() const { return knows_all_bytes_; }

 private:
  BpeModel() = default;

  void IndexWords();
  static size_t FilterBit(std::string_view word);

  Vocabulary vocabulary_;
  MergeList merges_;
  MergeTables tables_;
  MergeFunction merge_;
  int32_t byte_ids_[256];  // -1: the vocabulary lacks the byte
  bool knows_all_bytes_ = true;
  std::vector<uint32_t> byte_pair_ranks_;
  // With ignore_merges, a pretoken that is a token is that token. Tokens by the bytes they stand
  // for: those that have a slot there in short_words_, the others in words_.
  bool ignore_merges_ = false;
  std::optional<WordTable> short_words_;
  StringTable words_;
  std::vector<int32_t> word_ids_;
  // A bit per hash of a word: most pretokens that are no token need no look at the table.
  std::vector<uint64_t> word_filter_;
  size_t longest_word_ = 0;
};

}  // namespace easydata::tokenizers
