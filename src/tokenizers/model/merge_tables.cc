#include "tokenizers/model/merge_tables.h"

namespace easydata::tokenizers {

size_t MergeScalar(const MergeTables& tables, const uint8_t* bytes, int32_t* symbols,
                   size_t count) {
  uint32_t ranks[kMaxMergeSymbols];  // of the pair that starts at a symbol
  for (size_t i = 0; i + 1 < count; ++i) {
    ranks[i] = tables.byte_pair_ranks[bytes[i] * 256u + bytes[i + 1]];
  }
  return MergeRanked(tables, ranks, symbols, count);
}

size_t MergeRanked(const MergeTables& tables, uint32_t* ranks, int32_t* symbols, size_t count) {
  for (;;) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) best = ranks[i] < ranks[best] ? i : best;
    const uint32_t rank = ranks[best];
    if (rank == MergeTables::kNoRank) return count;
    symbols[best] = tables.ResultOf(rank);
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      ranks[i - 1] = ranks[i];
    }
    if (count == 1) return count;
    if (best + 1 < count) ranks[best] = tables.FindRank(symbols[best], symbols[best + 1]);
    if (best > 0) ranks[best - 1] = tables.FindRank(symbols[best - 1], symbols[best]);
  }
}

}  // namespace easydata::tokenizers
