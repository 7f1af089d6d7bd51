#include "easydata/stream/batch.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <arrow/record_batch.h>

#include <algorithm>
#include <utility>

#include "easydata/stream/slices.h"

namespace easydata {

void MixWatermark::Note(int64_t rows, const Boundary& boundary) {
  if (boundary.block < 0) return;
  if (!steps_.empty() && steps_.back().rows >= rows) return;
  if (!steps_.empty() && steps_.back().boundary == boundary) {
    steps_.back().rows = rows;
  } else {
    steps_.push_back({rows, boundary});
  }
}

MixWatermark::Boundary MixWatermark::At(int64_t rows) const {
  const auto step = std::lower_bound(steps_.begin(), steps_.end(), rows,
                                     [](const Step& s, int64_t r) { return s.rows < r; });
  return step == steps_.end() ? End() : step->boundary;
}

MixWatermark MixWatermark::Slice(int64_t offset) const {
  MixWatermark out;
  for (const Step& step : steps_) out.Note(step.rows - offset, step.boundary);
  return out;
}

namespace {

/// Whether two names are of one shard: an op may have copied it with what it knows of its rows.
bool IsSameShard(const std::shared_ptr<const ShardRef>& a,
                 const std::shared_ptr<const ShardRef>& b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && a->epoch == b->epoch && a->shard == b->shard &&
         a->source == b->source;
}

}  // namespace

MixWatermark MixWatermark::Of(const Addresses& from, const Addresses& made) const {
  MixWatermark out;
  const auto& runs = from.runs();
  const bool expanded = std::any_of(runs.begin(), runs.end(),
                                    [](const Addresses::Run& run) { return run.sub_row >= 0; });
  size_t run = expanded ? runs.size() : 0;
  int64_t start = 0;  // of the run
  int64_t row = 0;    // of it: the first that something may still be made of
  int64_t num_made = 0;
  for (Addresses::Run one : made.runs()) {
    for (const int64_t last = one.row + one.count; one.row < last; ++one.row) {
      while (run < runs.size() &&
             (!IsSameShard(runs[run].shard, one.shard) || one.row < runs[run].row + row ||
              one.row >= runs[run].row + runs[run].count)) {
        start += runs[run++].count;
        row = 0;
      }
      if (run == runs.size()) break;
      row = one.row - runs[run].row;
      out.Note(++num_made, At(start + row + 1));
    }
  }
  // Which row the rest was made from is not known: take the last one, to be safe.
  out.Note(made.size(), End());
  return out;
}

Address SpanTable::FirstDocument(int64_t row) const {
  if (row >= num_rows() || row_starts[row] == row_starts[row + 1]) return Address{nullptr, row};
  return spans[row_starts[row]].document;
}

std::shared_ptr<const SpanTable> SpanTable::Take(const std::vector<int64_t>& rows) const {
  auto out = std::make_shared<SpanTable>();
  for (const int64_t row : rows) {
    out->spans.insert(out->spans.end(), spans.begin() + row_starts[row],
                      spans.begin() + row_starts[row + 1]);
    out->row_starts.push_back(static_cast<int64_t>(out->spans.size()));
  }
  return out;
}

int64_t Batch::num_rows() const {
  if (ungathered != nullptr) return static_cast<int64_t>(ungathered->rows.size());
  return rows == nullptr ? 0 : rows->num_rows();
}

Address Batch::AddressOf(int64_t row) const {
  if (row < addresses.size()) return addresses.At(row);
  return spans == nullptr ? Address{nullptr, row} : spans->FirstDocument(row);
}

Batch Batch::Slice(int64_t offset, int64_t length) const {
  if (offset == 0 && length >= num_rows()) return *this;
  Batch out;
  if (offset == 0) out.dropped = dropped;
  out.watermark = watermark.Slice(offset);
  if (ungathered != nullptr) {
    const auto begin = ungathered->rows.begin() + offset;
    const int64_t left = num_rows() - offset;
    out.ungathered = std::make_shared<const UngatheredRows>(
        UngatheredRows{ungathered->parts, {begin, begin + std::min(length, left)}});
    return out;
  }
  out.rows = rows->Slice(offset, length);
  length = out.rows->num_rows();
  out.addresses = addresses.Slice(offset, length);
  if (row_bytes != nullptr) {
    out.row_bytes = std::make_shared<const std::vector<int64_t>>(
        row_bytes->begin() + offset, row_bytes->begin() + offset + length);
  }
  if (spans != nullptr) {
    auto table = std::make_shared<SpanTable>();
    const int64_t first = spans->row_starts[offset];
    for (int64_t i = offset; i < offset + length; ++i) {
      table->row_starts.push_back(spans->row_starts[i + 1] - first);
    }
    table->spans.assign(spans->spans.begin() + first,
                        spans->spans.begin() + spans->row_starts[offset + length]);
    out.spans = std::move(table);
  }
  return out;
}

Result<Batch> Batch::Take(const std::vector<int64_t>& indices) const {
  Batch out = TakeFacts(indices);
  ARROW_ASSIGN_OR_RAISE(out.rows, TakeRows(*rows, indices));
  return out;
}

Batch Batch::TakeFacts(const std::vector<int64_t>& indices) const {
  Batch out;
  if (spans == nullptr) {
    out.addresses = addresses.Take(indices);
  } else {
    out.spans = spans->Take(indices);
  }
  if (row_bytes != nullptr) {
    std::vector<int64_t> taken;
    taken.reserve(indices.size());
    for (const int64_t index : indices) taken.push_back((*row_bytes)[index]);
    out.row_bytes = std::make_shared<const std::vector<int64_t>>(std::move(taken));
  }
  out.dropped = dropped;
  return out;
}

Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const arrow::RecordBatch& rows,
                                                     const std::vector<int64_t>& indices) {
  const arrow::Int64Array numbers(static_cast<int64_t>(indices.size()),
                                  arrow::Buffer::Wrap(indices));
  arrow::ArrayVector columns;
  columns.reserve(rows.num_columns());
  for (const auto& column : rows.columns()) {
    ARROW_ASSIGN_OR_RAISE(
        auto taken,
        arrow::compute::Take(*column, numbers, arrow::compute::TakeOptions::NoBoundsCheck()));
    columns.push_back(std::move(taken));
  }
  return arrow::RecordBatch::Make(rows.schema(), static_cast<int64_t>(indices.size()),
                                  std::move(columns));
}

Result<Batch> ConcatenateBatches(const std::vector<Batch>& batches) {
  if (batches.empty()) return Status::Invalid("there is no batch to join");
  if (batches.size() == 1) return batches[0];
  const std::vector<JoinedRows> joined = JoinRows(batches);
  Batch out = ConcatenateFacts(batches);
  if (joined.size() == 1) {
    out.rows = joined[0].rows;
    return out;
  }
  int64_t num_rows = 0;
  for (const JoinedRows& part : joined) num_rows += part.rows->num_rows();
  arrow::ArrayVector columns;
  for (int i = 0; i < joined[0].rows->num_columns(); ++i) {
    arrow::ArrayVector parts;
    for (const JoinedRows& part : joined) parts.push_back(part.rows->column(i));
    ARROW_ASSIGN_OR_RAISE(auto column, arrow::Concatenate(parts));
    columns.push_back(std::move(column));
  }
  out.rows = arrow::RecordBatch::Make(joined[0].rows->schema(), num_rows, std::move(columns));
  return out;
}

Batch ConcatenateFacts(std::span<const Batch> batches) {
  Batch out;
  std::shared_ptr<SpanTable> table;
  for (const Batch& batch : batches) {
    out.addresses.Append(batch.addresses);
    out.dropped.insert(out.dropped.end(), batch.dropped.begin(), batch.dropped.end());
    if (batch.spans == nullptr) continue;
    if (table == nullptr) table = std::make_shared<SpanTable>();
    const int64_t base = table->row_starts.back();
    table->spans.insert(table->spans.end(), batch.spans->spans.begin(), batch.spans->spans.end());
    for (size_t i = 1; i < batch.spans->row_starts.size(); ++i) {
      table->row_starts.push_back(base + batch.spans->row_starts[i]);
    }
  }
  out.spans = std::move(table);
  return out;
}

}  // namespace easydata
