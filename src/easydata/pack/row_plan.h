#pragma once

#include <cstdint>
#include <vector>

#include "easydata/pack/rows_by_free_space.h"

namespace easydata::pack {

/// A run of a document's tokens inside a row; the closing EOS counts as the document's last token.
struct Piece {
  int64_t document;  // number among those that are planned together
  int64_t offset;
  int32_t length;
};

/// Rows to be written: those of row i are pieces[row_starts[i] .. row_starts[i + 1]).
struct RowPlan {
  std::vector<Piece> pieces;
  std::vector<int64_t> row_starts{0};

  int64_t num_rows() const { return static_cast<int64_t>(row_starts.size()) - 1; }
  void CloseRow() { row_starts.push_back(static_cast<int64_t>(pieces.size())); }
};

/// Plans rows as EasyDeL's pool of packers: a document goes to the packer that it fills best (ties:
/// the first), or, where it fits into none, to packer 0, which cuts it at the row's end.
class PoolPlanner {
 public:
  PoolPlanner(int32_t num_packers, int32_t seq_length);

  /// Puts document number `document` of `length` > 0 tokens into a row, and appends the rows that
  /// it fills.
  void Add(int64_t document, int64_t length, RowPlan* plan);
  /// Appends the packers' unfinished rows, in the packers' order.
  void Flush(RowPlan* plan);

 private:
  struct Packer {
    std::vector<Piece> pieces;
    int32_t used = 0;
  };
  void Put(Packer* packer, Piece piece, RowPlan* plan);
  void Emit(Packer* packer, RowPlan* plan);

  const int32_t seq_length_;
  std::vector<Packer> packers_;
};

/// First fit decreasing: the longest first (ties: in order), each into the first row with room.
/// Documents longer than a row are cut into whole rows and a rest, which goes into a row like the
/// others. O(n log n), after Johnson's tournament tree of the rows' room.
RowPlan PlanFirstFit(const std::vector<int64_t>& lengths, int32_t seq_length);

/// Best fit decreasing: as PlanFirstFit(), but each into the fullest row that has room (ties: the
/// first such row). O(n log n).
class BestFitPlanner {
 public:
  explicit BestFitPlanner(int32_t seq_length);

  RowPlan Plan(const std::vector<int64_t>& lengths);
  /// Plans the first `*documents` documents only, at least half of them: all, or as many as make
  /// one row less, whichever fills its rows more. For a window that need not end at its last
  /// document: where it does, its last row is only half full on average.
  RowPlan PlanFullest(const std::vector<int64_t>& lengths, int64_t* documents);

 private:
  /// Puts the pieces of the first `documents` documents into rows; returns how many rows.
  int32_t AssignRows(const std::vector<Piece>& pieces, int64_t documents,
                     std::vector<int32_t>* rows);

  const int32_t seq_length_;
  RowsByFreeSpace open_;  // empty between calls
};

}  // namespace easydata::pack
