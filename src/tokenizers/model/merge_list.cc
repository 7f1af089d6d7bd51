#include "tokenizers/model/merge_list.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "tokenizers/component_json.h"

namespace easydata::tokenizers {

Status MergeList::CheckSizes(size_t num_merges, int64_t id_limit) {
  if (id_limit > (int64_t{1} << MergeTables::kIdBits) ||
      num_merges >= (size_t{1} << MergeTables::kRankBits)) {
    return Unsupported("model BPE of more than 2^21 ids or 2^22 merges");
  }
  return Status::OK();
}

MergeList::MergeList(size_t max_merges) {
  const size_t slots = std::bit_ceil(std::max<size_t>(max_merges * 2, 64));
  slots_.assign(slots, MergeTables::kNoEntry);
  shift_ = 64 - std::countr_zero(slots);
  constexpr size_t kFilterBitsPerSlot = 8;
  filter_.assign(slots * kFilterBitsPerSlot / 64, 0);
  filter_shift_ = 64 - std::countr_zero(slots * kFilterBitsPerSlot);
}

void MergeList::Insert(const Merge& merge, uint32_t rank) {
  const uint64_t pair = MergeTables::PairOf(merge.left, merge.right);
  const uint64_t hash = MergeTables::HashOf(pair);
  const uint64_t bit = hash >> filter_shift_;
  filter_[bit / 64] |= uint64_t{1} << bit % 64;
  size_t slot = hash >> shift_;
  while (slots_[slot] != MergeTables::kNoEntry && slots_[slot] >> MergeTables::kRankBits != pair) {
    slot = (slot + 1) & (slots_.size() - 1);
  }
  slots_[slot] = pair << MergeTables::kRankBits | rank;
}

Result<MergeList> MergeList::Make(const std::vector<Merge>& merges, int64_t id_limit) {
  ARROW_RETURN_NOT_OK(CheckSizes(merges.size(), id_limit));
  MergeList list(merges.size());
  list.results_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    list.results_.push_back(merges[rank].result);
    list.Insert(merges[rank], static_cast<uint32_t>(rank));
  }
  return list;
}

size_t MergeList::MergeFew(int32_t* symbols, size_t count) const {
  if (count < 2) return count;
  const MergeTables tables = this->tables();
  uint32_t ranks[kMaxMergeSymbols];
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = tables.FindRank(symbols[i], symbols[i + 1]);
  return MergeRanked(tables, ranks, symbols, count);
}

size_t MergeList::MergeAny(int32_t* symbols, size_t count, MergeScratch* scratch) const {
  if (count < 2) return count;
  const MergeTables tables = this->tables();
  std::vector<MergeScratch::Symbol>& list = scratch->symbols;
  std::vector<uint64_t>& heap = scratch->heap;  // rank << 32 | position
  const auto none = static_cast<uint32_t>(count);
  list.resize(count);
  heap.clear();
  for (uint32_t i = 0; i < none; ++i) list[i] = {symbols[i], i == 0 ? none : i - 1, i + 1};
  const auto rank_at = [&](uint32_t i) {
    return list[i].next == none ? MergeTables::kNoRank
                                : tables.FindRank(list[i].id, list[list[i].next].id);
  };
  for (uint32_t i = 0; i + 1 < none; ++i) {
    if (const uint32_t rank = rank_at(i); rank != MergeTables::kNoRank) {
      heap.push_back(uint64_t{rank} << 32 | i);
    }
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](uint32_t i) {
    if (const uint32_t rank = rank_at(i); rank != MergeTables::kNoRank) {
      heap.push_back(uint64_t{rank} << 32 | i);
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  };
  while (!heap.empty()) {
    const auto rank = static_cast<uint32_t>(heap.front() >> 32);
    const auto i = static_cast<uint32_t>(heap.front());
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    if (list[i].id < 0 || list[i].next == none) continue;
    const uint32_t gone = list[i].next;
    const uint32_t now = tables.FindRank(list[i].id, list[gone].id);
    if (now == MergeTables::kNoRank || tables.ResultOf(now) != tables.ResultOf(rank)) continue;
    list[i].id = tables.ResultOf(rank);
    list[i].next = list[gone].next;
    list[gone].id = -1;
    if (list[i].next != none) list[list[i].next].previous = i;
    if (list[i].previous != none) push(list[i].previous);
    push(i);
  }
  size_t left = 0;
  for (uint32_t i = 0; i < none; i = list[i].next) symbols[left++] = list[i].id;
  return left;
}

}  // namespace easydata::tokenizers
