#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizers/model/word_table.h"

namespace easydata::tokenizers {

/// Caches the ids of words; one per worker, bounded.
///
/// Short words of few ids live in a WordTable, all others in a table with an arena, which is
/// cleared when it is full. Its content never changes results, only their cost.
class WordCache {
 public:
  /// Takes up to `bytes` in all. `hash_key` is the hash that short words are looked up by.
  WordCache(int64_t bytes, WordTable::HashFunction hash_key);

  WordTable& table() { return table_; }

  /// Words longer than this are not remembered: they hardly ever come again.
  static constexpr size_t kMaxLongBytes = 512;

  static constexpr size_t kNotFound = SIZE_MAX;

  /// Prefetches the line that FindLong will read first.
  void PrefetchLong(uint64_t hash) const {
    __builtin_prefetch(long_entries_.data() + (hash & (long_entries_.size() - 1)));
  }

  /// Looks a word up that the table does not take. Copies its ids to `out` and returns their
  /// number, or kNotFound.
  size_t FindLong(std::string_view word, uint64_t hash, int32_t* out) const;
  void InsertLong(std::string_view word, uint64_t hash, const int32_t* ids, size_t count);

 private:
  struct LongEntry {
    uint32_t hash = 0;
    // In the arena, in units of 4 bytes: a LongHead, the ids, the bytes. 0: no word.
    uint32_t offset = 0;
  };
  struct LongHead {
    uint16_t num_ids;
    uint16_t num_bytes;
  };

  // Which bit of long_filter_ stands for a hash.
  size_t FilterBit(uint64_t hash) const {
    return (static_cast<uint32_t>(hash) * uint64_t{0x9E3779B97F4A7C15u} >> 32) &
           (long_filter_.size() * 64 - 1);
  }
  void SetLongEntries(size_t count);
  void PutLong(const LongEntry& entry);
  void MakeRoomForLong();
  void ForgetLong();

  WordTable table_;
  size_t max_long_entries_;
  size_t max_arena_;
  std::vector<LongEntry> long_entries_;
  // A filter in near memory, of four bits an entry: tells most new words from those that are there.
  std::vector<uint64_t> long_filter_;
  std::vector<int32_t> arena_;
  size_t num_long_ = 0;
};

}  // namespace easydata::tokenizers
