#include "easydata/tokenizer/model/word_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace easydata {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr int64_t kMinBytes = 4096;

}  // namespace

WordCache::WordCache(int64_t bytes) {
  slots_bytes_ = std::bit_floor(static_cast<size_t>(std::max(bytes, kMinBytes)));
  const size_t alignment = slots_bytes_ >= kHugePage ? kHugePage : size_t{4096};
  void* memory = std::aligned_alloc(alignment, slots_bytes_);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage)
    madvise(memory, slots_bytes_, MADV_HUGEPAGE);  // advice: failing is no harm
#endif
  std::memset(memory, 0, slots_bytes_);
  slots_ = static_cast<WordSlot*>(memory);
  bucket_mask_ = slots_bytes_ / (2 * sizeof(WordSlot)) - 1;
  // Of the half for long pretokens, half is arena, half table.
  long_entries_.resize(std::bit_floor(slots_bytes_ / 4 / sizeof(LongEntry)));
  arena_size_ = std::min<size_t>(slots_bytes_ / 4 / sizeof(int32_t), UINT32_MAX);
  arena_.reset(new int32_t[arena_size_]);
}

WordCache::~WordCache() { std::free(slots_); }

size_t WordCache::FindLong(std::string_view word, uint64_t hash, int32_t* out) const {
  const size_t mask = long_entries_.size() - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const LongEntry& entry = long_entries_[slot];
    if (entry.num_bytes == 0) return kNotFound;
    const int32_t* ids = arena_.get() + entry.offset;
    if (entry.hash == hash && entry.num_bytes == word.size() &&
        std::memcmp(ids + entry.num_ids, word.data(), word.size()) == 0) {
      std::copy_n(ids, entry.num_ids, out);
      return entry.num_ids;
    }
  }
}

void WordCache::InsertLong(std::string_view word, uint64_t hash, const int32_t* ids, size_t count) {
  const size_t needed = count + (word.size() + 3) / 4;
  if (word.empty() || word.size() > kMaxLongBytes || needed > arena_size_) return;
  if (arena_used_ + needed > arena_size_ || (num_long_ + 1) * 2 > long_entries_.size()) {
    std::fill(long_entries_.begin(), long_entries_.end(), LongEntry());
    arena_used_ = 0;
    num_long_ = 0;
  }
  const size_t mask = long_entries_.size() - 1;
  size_t slot = hash & mask;
  while (long_entries_[slot].num_bytes != 0) slot = (slot + 1) & mask;
  long_entries_[slot] = {hash, static_cast<uint32_t>(arena_used_), static_cast<uint32_t>(count),
                         static_cast<uint32_t>(word.size())};
  std::copy_n(ids, count, arena_.get() + arena_used_);
  std::memcpy(arena_.get() + arena_used_ + count, word.data(), word.size());
  arena_used_ += needed;
  ++num_long_;
}

}  // namespace easydata
