#include "easydata/tokenizer/model/bpe_model.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "easydata/tokenizer/byte_alphabet.h"
#include "easydata/tokenizer/utf8.h"

namespace easydata {
namespace {

// Pretokens of more symbols than this are merged by a heap: the simple way costs their square.
constexpr size_t kMaxShort = 32;

uint64_t PairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

uint64_t Mix(uint64_t key) {
  key ^= key >> 32;
  return key * 0x9E3779B97F4A7C15u;
}

}  // namespace

Result<std::unique_ptr<const BpeModel>> BpeModel::Make(const TokenizerSpec& spec) {
  std::unique_ptr<BpeModel> model(new BpeModel);
  ARROW_RETURN_NOT_OK(model->Init(spec));
  return std::unique_ptr<const BpeModel>(std::move(model));
}

Status BpeModel::Init(const TokenizerSpec& spec) {
  tokens_ = spec.tokens;
  ids_ = spec.ids;
  const int32_t max_id = ids_.empty() ? -1 : *std::max_element(ids_.begin(), ids_.end());
  index_of_id_.assign(max_id + 1, -1);
  for (size_t i = 0; i < ids_.size(); ++i) index_of_id_[ids_[i]] = static_cast<int32_t>(i);

  const ByteAlphabet& alphabet = ByteAlphabet::Get();
  for (int byte = 0; byte < 256; ++byte) {
    std::string character;
    utf8::Append(alphabet.character(static_cast<uint8_t>(byte)), &character);
    byte_ids_[byte] = TokenToId(character);
    if (byte_ids_[byte] < 0 && spec.needs_whole_alphabet) {
      return Status::NotImplemented(
          "the native tokenizer engine does not take this file: model BPE with unk_token or "
          "byte_fallback "
          "whose vocab lacks the byte ",
          byte);
    }
  }

  const size_t slots = std::bit_ceil(std::max<size_t>(spec.merges.size() * 2, 16));
  merges_.resize(slots);
  merge_shift_ = 64 - std::countr_zero(slots);
  std::string joined;
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto [left, right] = spec.merges[rank];
    joined.assign(tokens_[left]);
    joined.append(tokens_[right]);
    const int32_t result = tokens_.Find(joined);
    if (result < 0) {
      return Status::NotImplemented(
          "the native tokenizer engine does not take this file: vocab lacks the merge result \"",
          joined, "\"");
    }
    InsertMerge(ids_[left], ids_[right], static_cast<uint32_t>(rank), ids_[result]);
  }

  ignore_merges_ = spec.ignore_merges;
  if (ignore_merges_) {
    std::string bytes;
    for (int64_t i = 0; i < tokens_.size(); ++i) {
      bytes.clear();
      if (!alphabet.ToBytes(tokens_[i], &bytes)) continue;
      words_.Insert(bytes);
      word_ids_.push_back(ids_[i]);
      longest_word_ = std::max(longest_word_, bytes.size());
    }
  }
  return Status::OK();
}

void BpeModel::InsertMerge(int32_t left, int32_t right, uint32_t rank, int32_t id) {
  const uint64_t key = PairKey(left, right);
  const size_t mask = merges_.size() - 1;
  size_t slot = Mix(key) >> merge_shift_;
  while (merges_[slot].pair != kNoPair && merges_[slot].pair != key) slot = (slot + 1) & mask;
  merges_[slot] = {key, rank, id};  // of a pair listed twice the last rank counts
}

const BpeModel::Merge& BpeModel::FindMerge(int32_t left, int32_t right) const {
  const uint64_t key = PairKey(left, right);
  const size_t mask = merges_.size() - 1;
  size_t slot = Mix(key) >> merge_shift_;
  while (merges_[slot].pair != key && merges_[slot].pair != kNoPair) slot = (slot + 1) & mask;
  return merges_[slot];
}

int32_t BpeModel::TokenToId(std::string_view token) const {
  const int32_t index = tokens_.Find(token);
  return index < 0 ? -1 : ids_[index];
}

size_t BpeModel::Encode(std::string_view word, MergeScratch* scratch, int32_t* out) const {
  if (ignore_merges_ && word.size() <= longest_word_) {
    if (const int32_t index = words_.Find(word); index >= 0) {
      *out = word_ids_[index];
      return 1;
    }
  }
  size_t count = 0;
  for (const char byte : word) {
    out[count] = byte_ids_[static_cast<uint8_t>(byte)];
    count += out[count] >= 0 ? 1 : 0;
  }
  return count <= kMaxShort ? MergeShort(out, count) : MergeLong(out, count, scratch);
}

size_t BpeModel::MergeShort(int32_t* symbols, size_t count) const {
  if (count < 2) return count;
  uint32_t ranks[kMaxShort];
  int32_t joined[kMaxShort];
  const auto look_up = [&](size_t i) {
    const Merge& merge = FindMerge(symbols[i], symbols[i + 1]);
    ranks[i] = merge.rank;
    joined[i] = merge.id;
  };
  for (size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) best = ranks[i] < ranks[best] ? i : best;
    if (ranks[best] == kNoRank) break;
    symbols[best] = joined[best];
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      ranks[i] = ranks[i + 1];
      joined[i] = joined[i + 1];
    }
    if (best + 1 < count) look_up(best);
    if (best > 0) look_up(best - 1);
  }
  return count;
}

size_t BpeModel::MergeLong(int32_t* symbols, size_t count, MergeScratch* scratch) const {
  std::vector<MergeScratch::Symbol>& list = scratch->symbols;
  std::vector<uint64_t>& heap = scratch->heap;  // rank << 32 | position; entries may be out of date
  const auto none = static_cast<uint32_t>(count);
  list.resize(count);
  heap.clear();
  for (uint32_t i = 0; i < none; ++i) list[i] = {symbols[i], i == 0 ? none : i - 1, i + 1};
  const auto rank_at = [&](uint32_t i) {
    return list[i].next == none ? kNoRank : FindMerge(list[i].id, list[list[i].next].id).rank;
  };
  for (uint32_t i = 0; i + 1 < none; ++i) {
    if (const uint32_t rank = rank_at(i); rank != kNoRank) heap.push_back(uint64_t{rank} << 32 | i);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](uint32_t i) {
    if (const uint32_t rank = rank_at(i); rank != kNoRank) {
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
    const Merge& merge = FindMerge(list[i].id, list[gone].id);
    if (merge.rank != rank) continue;
    list[i].id = merge.id;
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

}  // namespace easydata
