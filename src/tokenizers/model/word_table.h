#pragma once

#include <cstddef>
#include <cstdint>

#include "easydata/base/aligned_array.h"
#include "tokenizers/model/word_key.h"

namespace easydata::tokenizers {

/// A cache line of words and their ids: four narrow words of up to three ids, each {key, ids}, or
/// two others of up to six ids, each {both words of the key, ids, more ids}. Three ids are packed
/// into 60 bits; above the first three is the number of all.
struct alignas(64) WordLine {
  uint64_t words[8];
};

/// A bounded table of short words of few ids: a word has its slot in one line, or in the one
/// beside it when that is full, or else takes the slot of another. Begins small and grows with its
/// content, so that a short text uses little memory, which stays near.
class WordTable {
 public:
  using HashFunction = uint64_t (*)(const WordKey& key);

  /// Takes up to `bytes`. `hash_key` is the hash that words are looked up by.
  WordTable(size_t bytes, HashFunction hash_key);

  /// The line for words of this hash; valid until the next Insert that grows the table.
  const WordLine* line(uint64_t hash, bool narrow) const {
    const Lines& lines = lines_[narrow ? 1 : 0];
    return lines.memory.get() + lines.IndexOf(hash);
  }

  /// The slots of a line, as bits 0..7 for its eight words, whose key starts at a word equal to it.
  /// `equal` has a bit for each of the eight words that is equal to that of {key, key, key, key}.
  static unsigned Hits(unsigned equal, unsigned narrow) {
    return equal & (equal >> 1 | (0u - narrow)) & (0x11u | narrow * 0x44u);
  }

  /// The packed ids of the slot of which Hits gave the bit `at`; 16 bytes from there on may be
  /// read.
  static const uint64_t* PackedAt(const WordLine* line, unsigned at, unsigned narrow) {
    return line->words + at + 2 - narrow;
  }

  static constexpr int kPackedBits = 20;
  static constexpr uint64_t kPackedMask = (uint64_t{1} << kPackedBits) - 1;

  static size_t NumIds(const uint64_t* packed) { return packed[0] >> 3 * kPackedBits; }

  /// The first id.
  static int32_t FirstId(const uint64_t* packed) {
    return static_cast<int32_t>(packed[0] & kPackedMask);
  }

  /// Writes the ids to `out` and returns their number.
  static size_t Unpack(const uint64_t* packed, int32_t* out) {
    const size_t count = NumIds(packed);
    for (size_t i = 0; i < count; ++i) {
      out[i] = static_cast<int32_t>(packed[i / 3] >> kPackedBits * (i % 3) & kPackedMask);
    }
    return count;
  }

  /// Looks a word up in its line; its packed ids, or null.
  const uint64_t* FindInLine(uint64_t hash, const WordKey& key) const {
    return FindIn(line(hash, key.is_narrow()), key);
  }
  /// Looks a word up that is not in its line in the one beside it.
  const uint64_t* FindBeside(uint64_t hash, const WordKey& key) const;
  /// Looks a word up in both.
  const uint64_t* Find(uint64_t hash, const WordKey& key) const {
    const uint64_t* const packed = FindInLine(hash, key);
    return packed != nullptr ? packed : FindBeside(hash, key);
  }

  /// Whether a word of these ids has a slot here.
  static bool Takes(const WordKey& key, const int32_t* ids, size_t count);
  /// Remembers a word that is not there and that it Takes.
  void Insert(uint64_t hash, const WordKey& key, const int32_t* ids, size_t count);

  /// Changes when lines have moved.
  uint32_t num_moves() const { return num_moves_; }

 private:
  // Of the narrow words, and of the others.
  struct Lines {
    // Room for max_count of them and one more: what follows the last ids may be read.
    AlignedArray<WordLine> memory;
    uint64_t count = 0;  // even: lines come in pairs
    uint64_t max_count = 0;
    size_t num_inserted = 0;
    size_t grow_at = 0;

    uint64_t IndexOf(uint64_t hash) const { return static_cast<uint32_t>(hash) * count >> 32; }
  };

  static const uint64_t* FindIn(const WordLine* line, const WordKey& key);
  void Grow(bool narrow, uint64_t count);
  void Store(bool narrow, uint64_t hash, const uint64_t* slot);

  const HashFunction hash_key_;
  Lines lines_[2];
  uint32_t num_moves_ = 0;
};

}  // namespace easydata::tokenizers
