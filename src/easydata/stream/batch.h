#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/address.h"

namespace easydata {

/// A part of a document inside a packed row: which document is where in this row.
struct Span {
  Address document;
  int64_t document_offset = 0;  // tokens of the document before this part
  int32_t row_offset = 0;       // tokens of the row before this part
  int32_t length = 0;           // tokens, the closing EOS included
};

/// The spans of consecutive packed rows: those of row i are spans[row_starts[i] .. row_starts[i +
/// 1]).
struct SpanTable {
  std::vector<Span> spans;
  std::vector<int64_t> row_starts{0};

  int64_t num_rows() const { return static_cast<int64_t>(row_starts.size()) - 1; }
  /// Where the first document of a row comes from; without a shard for a row that has none.
  Address FirstDocument(int64_t row) const;
  /// Those of some rows, in this order.
  std::shared_ptr<const SpanTable> Take(const std::vector<int64_t>& rows) const;
};

/// Rows that a stage left out or cut, counted by source and reason; travels with the batch they
/// would have been in.
struct DropCount {
  /// So many addresses are kept, for people to look at.
  static constexpr size_t kMostAddresses = 5;

  std::string source;
  std::string reason;
  int64_t rows = 0;
  int64_t tokens = 0;
  /// Where the first rows were read.
  std::vector<Address> addresses = {};

  void AddAddress(Address address) {
    if (addresses.size() < kMostAddresses) addresses.push_back(std::move(address));
  }
};

/// Says how far a mix was read for the rows of a batch: an edit of the mix must not act before that
/// (docs/architecture.md, "Edits").
class MixWatermark {
 public:
  /// A boundary between two blocks of a mix.
  struct Boundary {
    int64_t epoch = 0;   // of the pass over the mix
    int64_t block = -1;  // that nothing was read of; -1: there is no mix

    bool operator==(const Boundary&) const = default;
  };

  /// Sets the watermark of the rows before `rows` that have none yet: they, and the windows open
  /// downstream, were read from the blocks before `boundary`.
  void Note(int64_t rows, const Boundary& boundary);
  /// The watermark of the first `rows` rows, one at least.
  Boundary At(int64_t rows) const;
  /// The watermark of all rows.
  Boundary End() const { return steps_.empty() ? Boundary() : steps_.back().boundary; }
  MixWatermark Slice(int64_t offset) const;
  /// The watermark of rows made from this batch's, in their order and with their addresses. `from`
  /// are the addresses of the batch, `made` those of the new rows.
  MixWatermark Of(const Addresses& from, const Addresses& made) const;
  /// Whether all rows have the same.
  bool is_uniform() const { return steps_.size() <= 1; }

 private:
  struct Step {
    int64_t rows;
    Boundary boundary;
  };
  std::vector<Step> steps_;  // by rows
};

/// One row of one of several batches.
struct RowRef {
  int32_t part;
  int64_t row;
};

struct Batch;
/// Batches that have other owners, too.
using SharedBatches = std::vector<std::shared_ptr<const Batch>>;

/// Rows of several batches, in the order in which they go out.
struct UngatheredRows {
  SharedBatches parts;
  std::vector<RowRef> rows;
};

/// What flows between stages: rows with their addresses.
struct Batch {
  std::shared_ptr<arrow::RecordBatch> rows;
  /// One address a row; empty for packed rows, which have spans instead.
  Addresses addresses;
  /// Packed rows only.
  std::shared_ptr<const SpanTable> spans;
  std::vector<DropCount> dropped;
  MixWatermark watermark;
  /// Bytes of content of each row before what was done to it, where a stage downstream has to know
  /// them (BlockKeeping); null: they are those of `rows`.
  std::shared_ptr<const std::vector<int64_t>> row_bytes;
  /// Rows that these were made of, where a stage downstream has to know it (BlockKeeping).
  int64_t read_rows = 0;
  /// Where it is set, the rows are these, and are yet to be gathered (GatherRows): `rows`,
  /// `addresses` and `spans` are empty. Only for consumers that called Stage::SkipGathering().
  std::shared_ptr<const UngatheredRows> ungathered;

  int64_t num_rows() const;
  /// Where a row comes from, for errors; of a packed row, its first document.
  Address AddressOf(int64_t row) const;
  /// Rows `offset` .. `offset + length` without copying; the drop counts go with the slice from 0.
  Batch Slice(int64_t offset, int64_t length) const;
  /// The rows named by `indices`, in that order, with their addresses or spans.
  Result<Batch> Take(const std::vector<int64_t>& indices) const;
  /// The same without the rows themselves.
  Batch TakeFacts(const std::vector<int64_t>& indices) const;
};

/// The rows named by `indices`, in that order.
Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const arrow::RecordBatch& rows,
                                                     const std::vector<int64_t>& indices);

/// Joins batches of one schema into one, in order. Those that are slices of one (slices.h) are not
/// copied.
Result<Batch> ConcatenateBatches(const std::vector<Batch>& batches);

/// Joins the addresses, spans and drop counts of batches, in order.
Batch ConcatenateFacts(std::span<const Batch> batches);

}  // namespace easydata
