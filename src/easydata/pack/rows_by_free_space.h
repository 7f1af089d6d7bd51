#pragma once

#include <cstdint>
#include <vector>

namespace easydata::pack {

/// Finds the fullest row that still has room for a number of tokens, in O(log n).
///
/// A bitmap with bitmaps over it, 64 bits to a word, says which amounts of room occur; the rows of
/// one amount are a pairing heap by their numbers (Fredman et al., "The pairing heap", 1986).
class RowsByFreeSpace {
 public:
  /// For rows with room for up to `most` tokens.
  explicit RowsByFreeSpace(int32_t most);

  /// Adds row `row`, which is not there yet; rows count from 0.
  void Add(int32_t row, int32_t room);
  struct Row {
    int32_t row;
    int32_t room;
  };
  /// Removes the first of the rows with the least room that is at least `needed`; its number is -1
  /// where there is none.
  Row Take(int32_t needed);
  /// Removes all rows.
  void Clear();

 private:
  /// The least room of `from` or more that a row has, or -1.
  int32_t FirstRoom(int32_t from) const;
  /// Notes that no row has this room any more.
  void Forget(int32_t room);
  int32_t Meld(int32_t a, int32_t b);
  /// The heap of the children of a heap's first row.
  int32_t WithoutFirst(int32_t heap);

  std::vector<std::vector<uint64_t>> levels_;  // bit i of a level: word i of the one below is not 0
  std::vector<int32_t> heaps_;                 // by room: the first row with it, or -1
  // By row: the heap's links, -1 where there is no more.
  std::vector<int32_t> child_;
  std::vector<int32_t> sibling_;
};

}  // namespace easydata::pack
