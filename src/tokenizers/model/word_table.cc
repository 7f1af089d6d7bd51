#include "tokenizers/model/word_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace easydata::tokenizers {
namespace {

constexpr uint64_t kFirstLines = uint64_t{1} << 11;
// Of twelve parts of the memory, those for narrow words.
constexpr size_t kNarrowParts = 5;
// Words of a slot, and slots of a line.
constexpr size_t SlotWords(bool narrow) { return narrow ? 2 : 4; }
constexpr size_t NumSlots(bool narrow) { return narrow ? 4 : 2; }

}  // namespace

WordTable::WordTable(size_t bytes, HashFunction hash_key) : hash_key_(hash_key) {
  for (const bool narrow : {false, true}) {
    const size_t share = bytes / 12 * (narrow ? kNarrowParts : 12 - kNarrowParts);
    Lines& lines = lines_[narrow];
    lines.max_count = std::max<uint64_t>(share / sizeof(WordLine) / 2 * 2, 2);
    lines.memory = MakeAlignedArray<WordLine>(lines.max_count + 1);
    Grow(narrow, std::min(kFirstLines, lines.max_count));
  }
}

const uint64_t* WordTable::FindIn(const WordLine* line, const WordKey& key) {
  const bool narrow = key.is_narrow();
  for (unsigned at = 0; at < 8; at += SlotWords(narrow)) {
    if (line->words[at] == key.low && (narrow || line->words[at + 1] == key.high)) {
      return PackedAt(line, at, narrow ? 1 : 0);
    }
  }
  return nullptr;
}

const uint64_t* WordTable::FindBeside(uint64_t hash, const WordKey& key) const {
  const bool narrow = key.is_narrow();
  const Lines& lines = lines_[narrow];
  const uint64_t home = lines.IndexOf(hash);
  // Slots fill from the first on, and never empty again.
  const bool is_full = lines.memory[home].words[narrow ? 6 : 5] != 0;
  return is_full ? FindIn(&lines.memory[home ^ 1], key) : nullptr;
}

bool WordTable::Takes(const WordKey& key, const int32_t* ids, size_t count) {
  return count <= (key.is_narrow() ? 3 : 6) && std::all_of(ids, ids + count, [](int32_t id) {
           return static_cast<uint32_t>(id) <= kPackedMask;
         });
}

void WordTable::Insert(uint64_t hash, const WordKey& key, const int32_t* ids, size_t count) {
  const bool narrow = key.is_narrow();
  Lines& lines = lines_[narrow];
  if (lines.num_inserted++ >= lines.grow_at) {
    Grow(narrow, std::min(lines.count * 2, lines.max_count));
  }
  uint64_t slot[4] = {key.low, key.high, 0, 0};
  uint64_t* const packed = slot + SlotWords(narrow) / 2;
  packed[0] = count << 3 * kPackedBits;
  for (size_t i = 0; i < count; ++i) {
    packed[i / 3] |= static_cast<uint64_t>(ids[i]) << kPackedBits * (i % 3);
  }
  Store(narrow, hash, slot);
}

// A free slot of the word's line or of the one beside it, else that of another word.
void WordTable::Store(bool narrow, uint64_t hash, const uint64_t* slot) {
  const size_t slot_words = SlotWords(narrow);
  const auto put = [&](WordLine* line, size_t at) {
    std::memcpy(line->words + at, slot, slot_words * sizeof(uint64_t));
  };
  const Lines& lines = lines_[narrow];
  const uint64_t home = lines.IndexOf(hash);
  for (const uint64_t index : {home, home ^ 1}) {
    WordLine* const line = &lines.memory[index];
    for (size_t at = 0; at < 8; at += slot_words) {
      if (line->words[at] == 0 && line->words[at + 1] == 0) return put(line, at);
    }
  }
  // Any will do, but not always the same.
  put(&lines.memory[home], lines.num_inserted % NumSlots(narrow) * slot_words);
}

// In place, from the end: the slot of a word never moves down, so that whatever is in its way has
// moved before.
void WordTable::Grow(bool narrow, uint64_t count) {
  Lines& lines = lines_[narrow];
  const uint64_t old_count = std::exchange(lines.count, count);
  // When half the slots are taken.
  lines.grow_at = count < lines.max_count ? count * NumSlots(narrow) / 2 : SIZE_MAX;
  ++num_moves_;
  std::memset(&lines.memory[old_count], 0, (count - old_count) * sizeof(WordLine));
  for (uint64_t i = old_count; i > 0; i -= 2) {
    const WordLine both[2] = {lines.memory[i - 2], lines.memory[i - 1]};
    std::memset(&lines.memory[i - 2], 0, sizeof(both));
    for (const WordLine& line : both) {
      for (size_t at = 0; at < 8; at += SlotWords(narrow)) {
        const uint64_t* const slot = line.words + at;
        if (slot[0] == 0 && slot[1] == 0) continue;
        Store(narrow, hash_key_({slot[0], narrow ? slot[0] : slot[1]}), slot);
      }
    }
  }
}

}  // namespace easydata::tokenizers
