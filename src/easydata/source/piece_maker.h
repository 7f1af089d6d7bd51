#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "easydata/source/kept_pieces.h"
#include "easydata/source/piece_task.h"
#include "easydata/source/source.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::source {

/// Makes rows of pieces: decodes them and applies operators, or takes what is kept of that. Make()
/// runs on any number of threads at once; what comes before it, before.
class PieceMaker {
 public:
  using Ops = std::vector<std::shared_ptr<const BatchOp>>;

  PieceMaker(std::shared_ptr<const Source> source, OnError on_error,
             std::shared_ptr<arrow::Schema> schema)
      : source_(std::move(source)),
        on_error_(on_error),
        source_schema_(schema),
        schema_(std::move(schema)) {}

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  const Ops& ops() const { return ops_; }
  std::map<std::string, double> busy_seconds() const { return busy_.seconds(); }

  Status Add(std::shared_ptr<const BatchOp> op);
  /// Adds `ops`, and keeps what comes of them; what is added later works on what is kept.
  Status Keep(const Ops& ops, const BlockKeeping& keeping);

  /// An error is one of waiting (`cancelled`); what is wrong with rows is in the result.
  Result<PieceRows> Make(PieceTask piece, const std::atomic<bool>* cancelled);
  /// Makes a piece again of its first `rows` rows alone, as operators are given them whose rows may
  /// be kept.
  Result<PieceRows> MakeFirst(PieceRows whole, int64_t rows);

 private:
  using Index = Ops::const_iterator;

  Status Decode(const PieceTask& piece, PieceRows* made);
  void Apply(Index begin, Index end, PieceRows* made);
  void Measure(PieceRows* made) const;
  void Put(const PieceTask& piece, const PieceRows& made, BlockStore::Claim* claim) const;
  bool TakeKept(KeptBlock kept, const PieceTask& piece, PieceRows* made) const;

  const std::shared_ptr<const Source> source_;
  const OnError on_error_;
  const std::shared_ptr<arrow::Schema> source_schema_;
  std::shared_ptr<arrow::Schema> schema_;
  Ops ops_;
  BusyTimes busy_;

  // Where something is kept: what the ops before number end_kept_op_ leave. Bytes of rows are those
  // before op number measured_op_.
  BlockKeeping keeping_;
  std::shared_ptr<arrow::Schema> kept_schema_;
  int64_t measured_op_ = 0;
  int64_t end_kept_op_ = 0;
};

}  // namespace easydata::source
