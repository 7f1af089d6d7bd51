#pragma once

#include <cstddef>
#include <cstdint>

namespace easydata::tokenizers {

/// A merge list in the form that the merging loops read; MergeList and BpeModel own what it points
/// to.
struct MergeTables {
  /// Ids and ranks must fit: an entry of `merges` is left id, right id, rank in one word.
  static constexpr int kIdBits = 21;
  static constexpr int kRankBits = 22;
  static constexpr uint64_t kNoEntry = ~uint64_t{0};
  static constexpr uint32_t kNoRank = ~uint32_t{0};

  /// Open addressing; a power of two of entries, at most half used.
  const uint64_t* merges;
  size_t mask;
  int shift;
  /// A bit per hash of a pair in the list: most pairs that are not in it need no look at `merges`,
  /// which is too large for a near cache.
  const uint64_t* filter;
  int filter_shift;
  /// The result of a pair, by rank; null where ranks are the results' ids.
  const int32_t* merged_ids;
  /// Rank of a pair of bytes, by the first * 256 + the second; null where symbols are not bytes.
  const uint32_t* byte_pair_ranks;

  static uint64_t PairOf(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << kIdBits | static_cast<uint64_t>(right);
  }

  /// The result of the pair of a rank.
  int32_t ResultOf(uint32_t rank) const {
    return merged_ids == nullptr ? static_cast<int32_t>(rank) : merged_ids[rank];
  }

  static uint64_t HashOf(uint64_t pair) { return (pair ^ pair >> 21) * 0x9E3779B97F4A7C15u; }

  /// The rank of a pair of ids, or kNoRank.
  uint32_t FindRank(int32_t left, int32_t right) const {
    const uint64_t pair = PairOf(left, right);
    const uint64_t hash = HashOf(pair);
    const uint64_t bit = hash >> filter_shift;
    if ((filter[bit / 64] >> bit % 64 & 1) == 0) return kNoRank;
    for (size_t slot = hash >> shift;; slot = (slot + 1) & mask) {
      const uint64_t entry = merges[slot];
      if (entry == kNoEntry) return kNoRank;
      if (entry >> kRankBits == pair) {
        return static_cast<uint32_t>(entry & ((uint64_t{1} << kRankBits) - 1));
      }
    }
  }
};

/// Merges the symbols of a pretoken in place: the pair of lowest rank first, the leftmost of
/// equals. bytes[i] is the byte that became symbols[i]; 2 <= count <= kMaxMergeSymbols. Returns how
/// many symbols are left.
using MergeFunction = size_t (*)(const MergeTables& tables, const uint8_t* bytes, int32_t* symbols,
                                 size_t count);

inline constexpr size_t kMaxMergeSymbols = 64;

/// The MergeFunction that runs on every machine.
size_t MergeScalar(const MergeTables& tables, const uint8_t* bytes, int32_t* symbols, size_t count);

/// The same where ranks[i], for all but the last symbol, is the rank of the pair that starts at
/// symbols[i]. Spoils `ranks`.
size_t MergeRanked(const MergeTables& tables, uint32_t* ranks, int32_t* symbols, size_t count);

}  // namespace easydata::tokenizers
