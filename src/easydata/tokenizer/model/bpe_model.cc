#include "easydata/tokenizer/model/bpe_model.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "easydata/tokenizer/byte_alphabet.h"
#include "easydata/tokenizer/utf8.h"

namespace easydata {
Result<std::unique_ptr<const BpeModel>> BpeModel::Make(const TokenizerSpec& spec,
                                                       MergeFunction merge) {
  std::unique_ptr<BpeModel> model(new BpeModel);
  model->merge_ = merge;
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

  if (max_id >= (1 << MergeTables::kIdBits) ||
      spec.merges.size() >= (size_t{1} << MergeTables::kRankBits)) {
    return Status::NotImplemented(
        "the native tokenizer engine does not take this file: model BPE of more than 2^21 ids or "
        "2^22 "
        "merges");
  }
  merged_ids_.reserve(spec.merges.size());
  std::string joined;
  for (const auto& [left, right] : spec.merges) {
    joined.assign(tokens_[left]);
    joined.append(tokens_[right]);
    merged_ids_.push_back(TokenToId(joined));
    if (merged_ids_.back() < 0) {
      return Status::NotImplemented(
          "the native tokenizer engine does not take this file: vocab lacks the merge result \"",
          joined, "\"");
    }
  }
  MakeMergeTables(spec);

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

void BpeModel::MakeMergeTables(const TokenizerSpec& spec) {
  const size_t slots = std::bit_ceil(std::max<size_t>(spec.merges.size() * 2, 16));
  merges_.assign(slots, MergeTables::kNoEntry);
  byte_pair_ranks_.assign(256 * 256, MergeTables::kNoRank);
  tables_ = {merges_.data(), slots - 1, 64 - std::countr_zero(slots), merged_ids_.data(),
             byte_pair_ranks_.data()};
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto [left, right] = spec.merges[rank];
    const uint64_t pair = MergeTables::PairOf(ids_[left], ids_[right]);
    size_t slot = tables_.FirstSlot(pair);
    while (merges_[slot] != MergeTables::kNoEntry &&
           merges_[slot] >> MergeTables::kRankBits != pair) {
      slot = (slot + 1) & tables_.mask;
    }
    merges_[slot] =
        pair << MergeTables::kRankBits | rank;  // of a pair listed twice the last rank counts
  }
  for (size_t pair = 0; pair < byte_pair_ranks_.size(); ++pair) {
    const int32_t left = byte_ids_[pair / 256], right = byte_ids_[pair % 256];
    if (left >= 0 && right >= 0) byte_pair_ranks_[pair] = tables_.FindRank(left, right);
  }
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
  if (word.size() > kMaxMergeSymbols) {
    for (const char byte : word) {
      out[count] = byte_ids_[static_cast<uint8_t>(byte)];
      count += out[count] >= 0 ? 1 : 0;
    }
    return MergeLong(out, count, scratch);
  }
  uint8_t bytes[kMaxMergeSymbols];
  for (const char byte : word) {
    bytes[count] = static_cast<uint8_t>(byte);
    out[count] = byte_ids_[bytes[count]];
    count += out[count] >= 0 ? 1 : 0;
  }
  return count < 2 ? count : merge_(tables_, bytes, out, count);
}

size_t BpeModel::MergeLong(int32_t* symbols, size_t count, MergeScratch* scratch) const {
  std::vector<MergeScratch::Symbol>& list = scratch->symbols;
  std::vector<uint64_t>& heap = scratch->heap;  // rank << 32 | position; entries may be out of date
  const auto none = static_cast<uint32_t>(count);
  list.resize(count);
  heap.clear();
  for (uint32_t i = 0; i < none; ++i) list[i] = {symbols[i], i == 0 ? none : i - 1, i + 1};
  const auto rank_at = [&](uint32_t i) {
    return list[i].next == none ? MergeTables::kNoRank
                                : tables_.FindRank(list[i].id, list[list[i].next].id);
  };
  for (uint32_t i = 0; i + 1 < none; ++i) {
    if (const uint32_t rank = rank_at(i); rank != MergeTables::kNoRank)
      heap.push_back(uint64_t{rank} << 32 | i);
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
    if (tables_.FindRank(list[i].id, list[gone].id) != rank) continue;
    list[i].id = merged_ids_[rank];
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
