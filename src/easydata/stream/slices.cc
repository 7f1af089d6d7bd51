#include "easydata/stream/slices.h"

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace easydata {
namespace {

/// Whether the values of `next` begin in the memory of `values` where those end.
bool Follows(const arrow::ArrayData& values, const arrow::ArrayData& next) {
  const auto is_same = [](const auto& a, const auto& b) { return a.get() == b.get(); };
  return values.offset + values.length == next.offset && values.dictionary == next.dictionary &&
         std::equal(values.buffers.begin(), values.buffers.end(), next.buffers.begin(),
                    next.buffers.end(), is_same) &&
         std::equal(values.child_data.begin(), values.child_data.end(), next.child_data.begin(),
                    next.child_data.end(), is_same);
}

bool Follows(const arrow::RecordBatch& rows, const arrow::RecordBatch& next) {
  if (rows.schema() != next.schema() || rows.num_columns() == 0) return false;
  for (int c = 0; c < rows.num_columns(); ++c) {
    if (!Follows(*rows.column_data(c), *next.column_data(c))) return false;
  }
  return true;
}

/// The rows from those of `first` on, `num_rows` of them.
std::shared_ptr<arrow::RecordBatch> Lengthened(const arrow::RecordBatch& first, int64_t num_rows) {
  arrow::ArrayDataVector columns;
  for (int c = 0; c < first.num_columns(); ++c) {
    auto column = std::make_shared<arrow::ArrayData>(*first.column_data(c));
    column->length = num_rows;
    // A slice may know that it has none, and the next one some.
    if (column->type->id() == arrow::Type::NA) {
      column->null_count = num_rows;
    } else if (!column->buffers.empty() && column->buffers[0] != nullptr) {
      column->null_count = arrow::kUnknownNullCount;
    }
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(first.schema(), num_rows, std::move(columns));
}

}  // namespace

std::vector<JoinedRows> JoinRows(std::span<const Batch> batches) {
  std::vector<JoinedRows> out;
  for (size_t begin = 0; begin < batches.size();) {
    const auto& first = batches[begin].rows;
    size_t end = begin + 1;
    int64_t num_rows = first->num_rows();
    while (end < batches.size() && Follows(*batches[end - 1].rows, *batches[end].rows)) {
      num_rows += batches[end++].rows->num_rows();
    }
    out.push_back({end == begin + 1 ? first : Lengthened(*first, num_rows), end - begin});
    begin = end;
  }
  return out;
}

std::vector<Batch> JoinSlices(std::vector<Batch> batches) {
  const std::vector<JoinedRows> joined = JoinRows(batches);
  if (joined.size() == batches.size()) return batches;
  std::vector<Batch> out;
  size_t begin = 0;
  for (const JoinedRows& each : joined) {
    Batch batch = ConcatenateFacts(std::span(batches).subspan(begin, each.num_batches));
    batch.rows = each.rows;
    out.push_back(std::move(batch));
    begin += each.num_batches;
  }
  return out;
}

}  // namespace easydata
