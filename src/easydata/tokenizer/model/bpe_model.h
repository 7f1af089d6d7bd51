#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/tokenizer/model/merge_tables.h"
#include "easydata/tokenizer/model/string_table.h"
#include "easydata/tokenizer/tokenizer_spec.h"

namespace easydata {

/// Working memory of BpeModel::Encode for long pretokens; one per thread.
struct MergeScratch {
  struct Symbol {
    int32_t id;  // -1: merged into a symbol on its left
    uint32_t previous;
    uint32_t next;
  };
  std::vector<Symbol> symbols;
  std::vector<uint64_t> heap;
};

/// Byte-level byte-pair encoding of single pretokens. Immutable.
///
/// As the reference does it: the pretoken's bytes become symbols, a byte that the vocabulary lacks
/// vanishes and its neighbours meet; then the pair of neighbours with the lowest rank in the merge
/// list is joined, the leftmost first, until no pair is in the list.
class BpeModel {
 public:
  static Result<std::unique_ptr<const BpeModel>> Make(const TokenizerSpec& spec,
                                                      MergeFunction merge = MergeScalar);

  /// Writes the ids of a pretoken to `out`, which has room for word.size() of them. Returns their
  /// number.
  size_t Encode(std::string_view word, MergeScratch* scratch, int32_t* out) const;

  /// Largest id of the vocabulary plus one.
  int64_t id_limit() const { return static_cast<int64_t>(index_of_id_.size()); }

  /// The number of tokens in the vocabulary.
  int64_t size() const { return tokens_.size(); }

  /// A token's id, or -1; an id's token as the file spells it, or nothing.
  int32_t TokenToId(std::string_view token) const;
  bool HasId(int64_t id) const { return id >= 0 && id < id_limit() && index_of_id_[id] >= 0; }
  std::string_view IdToToken(int32_t id) const { return tokens_[index_of_id_[id]]; }

 private:
  BpeModel() = default;

  Status Init(const TokenizerSpec& spec);
  void MakeMergeTables(const TokenizerSpec& spec);
  size_t MergeLong(int32_t* symbols, size_t count, MergeScratch* scratch) const;

  StringTable tokens_;
  std::vector<int32_t> ids_;          // by number in tokens_
  std::vector<int32_t> index_of_id_;  // -1: a hole
  int32_t byte_ids_[256];             // -1: the vocabulary lacks the byte
  MergeFunction merge_;
  MergeTables tables_;
  std::vector<uint64_t> merges_;
  std::vector<int32_t> merged_ids_;
  std::vector<uint32_t> byte_pair_ranks_;
  // With ignore_merges, a pretoken that is a token is that token: tokens by the bytes they stand
  // for.
  bool ignore_merges_ = false;
  StringTable words_;
  std::vector<int32_t> word_ids_;
  size_t longest_word_ = 0;
};

}  // namespace easydata
