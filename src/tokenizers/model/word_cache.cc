#include "tokenizers/model/word_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace easydata::tokenizers {
namespace {

constexpr size_t kFirstLongEntries = size_t{1} << 8;

}  // namespace

// Of the memory, nine fourteenths are for short words, the rest for the entries of the others and
// for their arena.
WordCache::WordCache(int64_t bytes, WordTable::HashFunction hash_key)
    : table_(static_cast<size_t>(bytes) / 14 * 9, hash_key),
      max_long_entries_(
          std::bit_floor(std::max<size_t>(static_cast<size_t>(bytes) / 14 / sizeof(LongEntry), 2))),
      max_arena_(
          std::min<size_t>(static_cast<size_t>(bytes) / 14 * 4 / sizeof(int32_t), UINT32_MAX)),
      long_entries_(std::min(kFirstLongEntries, max_long_entries_)) {
  arena_.reserve(max_arena_);  // takes no pages until it is written
  ForgetLong();
}

// Allocates this many, all empty.
void WordCache::SetLongEntries(size_t count) {
  long_entries_.assign(count, LongEntry());
  long_filter_.assign(std::max<size_t>(count / 16, 1), 0);
}

size_t WordCache::FindLong(std::string_view word, uint64_t hash, int32_t* out) const {
  const size_t bit = FilterBit(hash);
  if ((long_filter_[bit / 64] >> bit % 64 & 1) == 0) return kNotFound;
  const size_t mask = long_entries_.size() - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const LongEntry& entry = long_entries_[slot];
    if (entry.offset == 0) return kNotFound;
    if (entry.hash != static_cast<uint32_t>(hash)) continue;
    const int32_t* record = arena_.data() + entry.offset;
    LongHead head;
    std::memcpy(&head, record++, sizeof(head));
    if (head.num_bytes == word.size() &&
        std::memcmp(record + head.num_ids, word.data(), word.size()) == 0) {
      std::copy_n(record, head.num_ids, out);
      return head.num_ids;
    }
  }
}

void WordCache::InsertLong(std::string_view word, uint64_t hash, const int32_t* ids, size_t count) {
  const size_t needed = 1 + count + (word.size() + 3) / 4;
  if (word.size() > kMaxLongBytes || count > UINT16_MAX || needed >= max_arena_) return;
  if ((num_long_ + 1) * 2 > long_entries_.size()) MakeRoomForLong();
  if (arena_.size() + needed > max_arena_) ForgetLong();
  const size_t offset = arena_.size();
  arena_.resize(offset + needed);
  PutLong({static_cast<uint32_t>(hash), static_cast<uint32_t>(offset)});
  const LongHead head = {static_cast<uint16_t>(count), static_cast<uint16_t>(word.size())};
  std::memcpy(arena_.data() + offset, &head, sizeof(head));
  std::copy_n(ids, count, arena_.data() + offset + 1);
  std::memcpy(arena_.data() + offset + 1 + count, word.data(), word.size());
  ++num_long_;
}

void WordCache::PutLong(const LongEntry& entry) {
  const size_t mask = long_entries_.size() - 1;
  size_t slot = entry.hash & mask;
  while (long_entries_[slot].offset != 0) slot = (slot + 1) & mask;
  long_entries_[slot] = entry;
  const size_t bit = FilterBit(entry.hash);
  long_filter_[bit / 64] |= uint64_t{1} << bit % 64;
}

void WordCache::ForgetLong() {
  SetLongEntries(long_entries_.size());
  arena_.assign(1, 0);  // no record starts at 0
  num_long_ = 0;
}

// Doubles the table of long words or, when it may not grow, clears it.
void WordCache::MakeRoomForLong() {
  if (long_entries_.size() == max_long_entries_) return ForgetLong();
  const std::vector<LongEntry> old = std::move(long_entries_);
  SetLongEntries(old.size() * 2);
  for (const LongEntry& entry : old) {
    if (entry.offset != 0) PutLong(entry);
  }
}

}  // namespace easydata::tokenizers
