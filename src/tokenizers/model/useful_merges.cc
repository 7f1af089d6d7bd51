#include <algorithm>
#include <iterator>
#include <numeric>

#include "tokenizers/model/merge_list.h"

namespace easydata::tokenizers {
namespace {

// Of each result, the merges that make it, by rank.
struct Makers {
  Makers(const std::vector<Merge>& merges, size_t id_limit)
      : begins(id_limit + 1), ranks(merges.size()) {
    for (const Merge& merge : merges) ++begins[static_cast<size_t>(merge.result)];
    std::exclusive_scan(begins.begin(), begins.end(), begins.begin(), uint32_t{0});
    std::vector<uint32_t> next(begins.begin(), begins.end() - 1);
    for (uint32_t rank = 0; rank < merges.size(); ++rank) {
      ranks[next[static_cast<size_t>(merges[rank].result)]++] = rank;
    }
  }

  size_t num_results() const {
    size_t count = 0;
    for (size_t id = 0; id + 1 < begins.size(); ++id) count += begins[id] < begins[id + 1] ? 1 : 0;
    return count;
  }

  std::vector<uint32_t> begins;  // by result, in ranks
  std::vector<uint32_t> ranks;
};

// All ids, shortest tokens first.
std::vector<uint32_t> SortByLength(const std::vector<uint32_t>& lengths) {
  const uint32_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  std::vector<uint32_t> offsets(size_t{longest} + 2);
  for (const uint32_t length : lengths) ++offsets[length + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<uint32_t> ids(lengths.size());
  for (uint32_t id = 0; id < lengths.size(); ++id) ids[offsets[lengths[id]]++] = id;
  return ids;
}

}  // namespace

Result<MergeList> MergeList::MakeUseful(const std::vector<Merge>& merges,
                                        const std::vector<uint32_t>& lengths) {
  ARROW_RETURN_NOT_OK(CheckSizes(merges.size(), static_cast<int64_t>(lengths.size())));
  Makers makers(merges, lengths.size());
  MergeList list(makers.num_results());
  list.ranks_are_ids_ =
      std::is_sorted(merges.begin(), merges.end(),
                     [](const Merge& a, const Merge& b) { return a.result < b.result; });
  if (!list.ranks_are_ids_) {
    list.results_.reserve(merges.size());
    for (const Merge& merge : merges) list.results_.push_back(merge.result);
  }
  struct Pair {
    int32_t left = -1;
    int32_t right = -1;
  };
  std::vector<Pair> parts(lengths.size());  // of those that a merge makes
  const auto comes_to_be = [&](int32_t id) {
    const auto index = static_cast<size_t>(id);
    return lengths[index] == 1 || parts[index].left >= 0;
  };
  const auto keep = [&](uint32_t rank) {
    const Merge& merge = merges[rank];
    parts[static_cast<size_t>(merge.result)] = {merge.left, merge.right};
    list.Insert(merge, list.ranks_are_ids_ ? static_cast<uint32_t>(merge.result) : rank);
  };
  std::vector<int32_t> symbols, waiting;
  MergeScratch scratch;
  for (const uint32_t id : SortByLength(lengths)) {
    // What makes it, but for parts that are never made.
    uint32_t* const begin = makers.ranks.data() + makers.begins[id];
    uint32_t* const end =
        std::remove_if(begin, makers.ranks.data() + makers.begins[id + 1], [&](uint32_t rank) {
          return !comes_to_be(merges[rank].left) || !comes_to_be(merges[rank].right);
        });
    if (begin == end) continue;
    if (end - begin == 1) {
      keep(*begin);
      continue;
    }
    // Its characters, merged by all merges that make shorter tokens.
    symbols.clear();
    waiting.assign({merges[*begin].right, merges[*begin].left});
    while (!waiting.empty()) {
      const int32_t symbol = waiting.back();
      waiting.pop_back();
      const Pair& pair = parts[static_cast<size_t>(symbol)];
      if (pair.left < 0) {
        symbols.push_back(symbol);
      } else {
        waiting.push_back(pair.right);
        waiting.push_back(pair.left);
      }
    }
    const size_t left = symbols.size() <= kMaxMergeSymbols
                            ? list.MergeFew(symbols.data(), symbols.size())
                            : list.MergeAny(symbols.data(), symbols.size(), &scratch);
    if (left != 2) continue;
    // Of a pair listed twice the last rank counts.
    const auto last = std::find_if(
        std::make_reverse_iterator(end), std::make_reverse_iterator(begin), [&](uint32_t rank) {
          return merges[rank].left == symbols[0] && merges[rank].right == symbols[1];
        });
    if (last.base() != begin) keep(*last);
  }
  return list;
}

}  // namespace easydata::tokenizers
