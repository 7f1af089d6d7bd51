#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace easydata {

/// A pretoken of at most 15 bytes in two words: the bytes, zeros behind them, the length in the
/// last byte.
struct WordKey {
  uint64_t low;
  uint64_t high;

  bool operator==(const WordKey&) const = default;
};

inline constexpr size_t kMaxWordKeyBytes = 15;

/// The key of a word of at most kMaxWordKeyBytes bytes.
inline WordKey MakeWordKey(std::string_view word) {
  WordKey key = {0, 0};
  char bytes[16] = {};
  std::memcpy(bytes, word.data(), word.size());
  bytes[15] = static_cast<char>(word.size());
  std::memcpy(&key, bytes, 16);
  return key;
}

/// A hash of a key for processors without an instruction for one.
inline uint64_t HashWordKey(const WordKey& key) {
  uint64_t hash =
      key.low * 0x9E3779B97F4A7C15u ^ (key.high + 0x632BE59BD9B4E019u) * 0xD6E8FEB86659FD93u;
  hash ^= hash >> 32;
  return hash * 0x9E3779B97F4A7C15u >> 20;
}

/// A short pretoken and its ids: half a cache line.
struct alignas(32) WordSlot {
  static constexpr int kMaxIds = 3;

  WordKey key;
  int32_t ids[kMaxIds];
  int32_t count;
};

/// Remembers the ids of words; one per worker, bounded, and never done learning.
///
/// Short words of few ids live in buckets of two slots, one cache line each: a new one pushes the
/// older of its bucket out. All others live in a table beside an arena, which starts afresh when it
/// is full. Both begin small and grow with what they hold, so that a short text pays for little and
/// keeps it near. What is in it never changes results, only their cost.
class WordCache {
 public:
  using HashFunction = uint64_t (*)(const WordKey& key);

  /// Takes up to `bytes` in all. `hash_key` is the hash that short words are looked up by.
  WordCache(int64_t bytes, HashFunction hash_key);
  ~WordCache();

  WordCache(const WordCache&) = delete;
  WordCache& operator=(const WordCache&) = delete;

  /// The two slots for short words of this hash; valid until the next Insert.
  WordSlot* bucket(uint64_t hash) {
    return slots_ + 2 * (static_cast<uint32_t>(hash) * num_buckets_ >> 32);
  }

  /// Remembers a short word that is not in its bucket.
  void Insert(uint64_t hash, const WordKey& key, const int32_t* ids, size_t count) {
    if (num_inserted_++ >= grow_at_) Grow();
    WordSlot* slots = bucket(hash);
    slots[1] = slots[0];
    slots[0].key = key;
    for (size_t i = 0; i < count; ++i) slots[0].ids[i] = ids[i];
    slots[0].count = static_cast<int32_t>(count);
  }

  /// Words longer than this are not remembered: they hardly ever come again.
  static constexpr size_t kMaxLongBytes = 512;

  static constexpr size_t kNotFound = SIZE_MAX;

  /// Asks for the line that FindLong will look at first.
  void PrefetchLong(uint64_t hash) const {
    __builtin_prefetch(long_entries_.data() + (hash & (long_entries_.size() - 1)));
  }

  /// Looks a word up that has no slot. Copies its ids to `out` and returns their number, or
  /// kNotFound.
  size_t FindLong(std::string_view word, uint64_t hash, int32_t* out) const;
  void InsertLong(std::string_view word, uint64_t hash, const int32_t* ids, size_t count);

 private:
  struct LongEntry {
    uint64_t hash = 0;
    uint32_t offset = 0;  // in the arena, in units of 4 bytes: the ids, then the bytes
    uint32_t num_ids = 0;
    uint32_t num_bytes = 0;  // 0: empty
  };

  void Grow();
  void Place(const WordSlot& slot);
  void MakeRoomForLong();

  const HashFunction hash_key_;
  size_t max_buckets_;
  WordSlot* slots_ = nullptr;
  uint64_t num_buckets_ = 0;
  size_t num_inserted_ = 0;
  size_t grow_at_ = 0;
  size_t max_long_entries_;
  size_t max_arena_;
  std::vector<LongEntry> long_entries_;
  std::vector<int32_t> arena_;
  size_t num_long_ = 0;
};

}  // namespace easydata
