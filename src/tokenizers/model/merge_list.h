#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/model/merge_tables.h"

namespace easydata::tokenizers {

/// One entry of a merge list: two neighbours and what they become, by id.
struct Merge {
  int32_t left;
  int32_t right;
  int32_t result;
};

/// Working memory for merging long words; one per thread.
struct MergeScratch {
  struct Symbol {
    int32_t id;  // -1: merged into a symbol on its left
    uint32_t previous;
    uint32_t next;
  };
  std::vector<Symbol> symbols;
  std::vector<uint64_t> heap;
};

/// Joins neighbours by a merge list: the pair of lowest rank first, the leftmost of equals, until
/// no pair is in the list. Immutable.
class MergeList {
 public:
  MergeList() = default;

  /// Takes the merges by rank; of a pair listed twice the last rank counts. NotImplemented for more
  /// merges or larger ids than MergeTables holds.
  static Result<MergeList> Make(const std::vector<Merge>& merges, int64_t id_limit);

  MergeList(MergeList&&) = default;
  MergeList& operator=(MergeList&&) = default;

  /// The same of those merges alone that are ever carried out where every merge makes a longer
  /// token, ids have one token each, and merging begins with tokens of one character. `lengths` has
  /// the number of characters by id.
  ///
  /// A part of a text is merged as it would be alone. So a token that is not a character is made by
  /// one merge only, the last one when its characters are merged; lists that were made from ranked
  /// tokens name every pair that would give the token.
  static Result<MergeList> MakeUseful(const std::vector<Merge>& merges,
                                      const std::vector<uint32_t>& lengths);

  /// For the merging loops; points into this object's memory, which moving does not move.
  MergeTables tables() const {
    return {slots_.data(),  slots_.size() - 1, shift_,
            filter_.data(), filter_shift_,     ranks_are_ids_ ? nullptr : results_.data(),
            nullptr};
  }

  /// Calls visit(left, right) for every pair of ids in the list, in no order.
  template <typename Visitor>
  void ForEachPair(const Visitor& visit) const {
    for (const uint64_t entry : slots_) {
      if (entry == MergeTables::kNoEntry) continue;
      const uint64_t pair = entry >> MergeTables::kRankBits;
      visit(static_cast<int32_t>(pair >> MergeTables::kIdBits),
            static_cast<int32_t>(pair & ((uint64_t{1} << MergeTables::kIdBits) - 1)));
    }
  }

  /// Merges `count` symbols in place. Returns how many are left.
  ///
  /// As the reference does it to the last quirk: an entry of its queue whose pair has changed since
  /// still counts if the new pair becomes the same token. That can only be where merging makes no
  /// token longer or tokens share an id.
  size_t MergeAny(int32_t* symbols, size_t count, MergeScratch* scratch) const;

  /// The same for up to kMaxMergeSymbols symbols, without that quirk.
  size_t MergeFew(int32_t* symbols, size_t count) const;

 private:
  static Status CheckSizes(size_t num_merges, int64_t id_limit);

  explicit MergeList(size_t max_merges);

  void Insert(const Merge& merge, uint32_t rank);

  std::vector<uint64_t> slots_;
  std::vector<uint64_t> filter_;
  std::vector<int32_t> results_;  // by rank; none where ranks are ids
  bool ranks_are_ids_ = false;
  int shift_ = 0;
  int filter_shift_ = 0;
};

}  // namespace easydata::tokenizers
