#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "easydata/stream/batch_op.h"

namespace easydata {

/// A BatchOp whose rows may take long, as those of a user's function do: a stage cuts batches into
/// pieces for it, and hands on what it made of one while it works on the next.
///
/// Pieces end on a fixed grid in their batch, so that what comes out, and where it can be saved,
/// never depends on time.
class PiecewiseOp : public BatchOp {
 public:
  /// Rows of a piece; the last one of a batch may have fewer.
  static constexpr int64_t kPieceRows = 64;

  const PiecewiseOp* piecewise() const final { return this; }

  /// Whether all parts that an expansion upstream made of one row have to be in one piece, however
  /// many they are.
  virtual bool joins_parts() const { return false; }

  /// How many pieces one call of ApplyEach() should get: one where each takes long, more where
  /// calls would cost more than the work. May change at any time, and changes no result.
  virtual int64_t pieces_at_once() const = 0;

  /// Processes pieces that follow each other, each as Apply() does, up to the first that fails,
  /// whose error is the last result.
  virtual std::vector<Result<Batch>> ApplyEach(std::span<const Batch> pieces) const = 0;
};

/// The end of the piece of a batch that begins at row `begin`.
int64_t EndOfPiece(const PiecewiseOp& op, const Batch& batch, int64_t begin);

}  // namespace easydata
