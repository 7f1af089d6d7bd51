#include "easydata/stream/packed_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "easydata/stream/keep_rows.h"
#include "easydata/stream/row_error.h"

namespace easydata {
namespace {

// Source of the addresses that are lent: no stream has such a name.
constexpr char kLent[] = "\x1f lent to packed rows";

}  // namespace

PackedRows::PackedRows(Batch* batch)
    : shard_(std::make_shared<const ShardRef>(ShardRef{kLent, ""})), spans_(batch->spans) {
  batch->addresses = Addresses(shard_, 0, spans_->num_rows());
  batch->spans = nullptr;
}

void PackedRows::CountDropped(Batch* batch) const {
  std::vector<DropCount> lent;
  std::erase_if(batch->dropped, [&](const DropCount& count) {
    if (count.source != kLent) return false;
    lent.push_back(count);
    return true;
  });
  if (lent.empty()) return;
  std::vector<bool> is_there(spans_->num_rows(), false);
  for (const Addresses::Run& run : batch->addresses.runs()) {
    std::fill_n(is_there.begin() + run.row, run.count, true);
  }
  // Which row went for which reason is not kept: the first rows count for the first reason.
  size_t reason = 0;
  for (int64_t row = 0; row < spans_->num_rows() && reason < lent.size(); ++row) {
    if (is_there[row]) continue;
    for (int64_t s = spans_->row_starts[row]; s < spans_->row_starts[row + 1]; ++s) {
      const Span& span = spans_->spans[s];
      easydata::CountDropped(&batch->dropped, span.document, lent[reason].reason,
                             s == spans_->row_starts[row] ? 1 : 0, span.length);
    }
    if (--lent[reason].rows <= 0) ++reason;
  }
}

void PackedRows::TakeBack(AppliedBatch* applied) const {
  if (const Address* bad = RowErrorAddress(applied->error);
      bad != nullptr && bad->shard == shard_) {
    applied->error = MoveRowError(applied->error, spans_->FirstDocument(bad->row));
  }
  Batch& batch = applied->batch;
  CountDropped(&batch);
  std::vector<int64_t> rows;
  for (const Addresses::Run& run : batch.addresses.runs()) {
    for (int64_t row = run.row; row < run.row + run.count; ++row) rows.push_back(row);
  }
  batch.spans = spans_->Take(rows);
  batch.addresses = {};
}

}  // namespace easydata
