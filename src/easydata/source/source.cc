#include "easydata/source/source.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <utility>

#include "easydata/exec/exception_status.h"
#include "easydata/source/text_check.h"

namespace easydata::source {
namespace {

/// How many of a block's rows are among its first `count`, bad ones not counted, those that a look
/// leaves out included.
int64_t RowsAmong(const DecodedBlock& block, int64_t count) {
  for (const BadRow& bad : block.bad) count += bad.row < count ? 1 : 0;
  int64_t among = 0;
  for (const auto& [first, rows] : block.runs) among += std::clamp<int64_t>(count - first, 0, rows);
  return among;
}

/// Adds the rows of one shard until there are `look.most_rows`; false where the rest is not known.
Result<bool> AddFirstRows(const Source& source, size_t shard, const Look& look, OnError on_error,
                          const std::shared_ptr<arrow::Schema>& schema, FirstRows* out) {
  ReadContext context;
  context.count_bytes = [](int64_t) {};
  context.is_look = true;
  const ReadOptions options{std::nullopt, on_error, kToTheEnd, look};
  ARROW_ASSIGN_OR_RAISE(auto reader, source.Open(shard, {}, options, schema, context));
  ARROW_RETURN_NOT_OK(reader->Start().status());
  while (out->num_rows < look.most_rows) {
    ARROW_ASSIGN_OR_RAISE(auto task, reader->Next());
    if (!task.has_value()) return true;
    ARROW_ASSIGN_OR_RAISE(DecodedBlock block, task->decode());
    if (source.has_unchecked_text()) ARROW_RETURN_NOT_OK(CheckText(on_error, &block));
    const int64_t wanted = look.most_rows - out->num_rows;
    const int64_t rows =
        look.one_of_each_form ? RowsAmong(block, wanted) : std::min(block.rows->num_rows(), wanted);
    if (rows > 0) out->batches.push_back(block.rows->Slice(0, rows));
    const auto good = block.num_rows - static_cast<int64_t>(block.bad.size());
    out->num_rows += look.one_of_each_form ? std::min(good, wanted) : rows;
    if (block.stopped.has_value() || !block.broken.ok()) return false;
  }
  return false;
}

Result<FirstRows> ReadFirstRows(const Source& source, const Look& look, OnError on_error) {
  FirstRows out;
  const size_t num_shards = source.shard_names().size();
  if (num_shards == 0) {
    out.is_all = true;
    return out;
  }
  for (size_t shard = 0; shard < num_shards; ++shard) {
    ARROW_ASSIGN_OR_RAISE(const auto schema, source.Schema(std::nullopt, shard));
    ARROW_ASSIGN_OR_RAISE(const bool ended,
                          AddFirstRows(source, shard, look, on_error, schema, &out));
    if (!ended) return out;
  }
  out.is_all = true;
  return out;
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> CopyOfRow(const arrow::RecordBatch& batch,
                                                      int64_t row) {
  arrow::ArrayVector columns;
  for (const auto& column : batch.columns()) {
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), arrow::Concatenate({column->Slice(row, 1)}));
  }
  return arrow::RecordBatch::Make(batch.schema(), 1, std::move(columns));
}

Result<FirstRows> Source::Peek(int64_t num_rows, OnError on_error) const {
  std::optional<FirstRows>& known = on_error == OnError::kRaise ? peeked_raise_ : peeked_skip_;
  if (num_rows == 1) {
    std::lock_guard<std::mutex> lock(peeked_mutex_);
    if (known.has_value()) return *known;
  }
  ARROW_ASSIGN_OR_RAISE(FirstRows rows, exec::CatchExceptions([&] {
                          return ReadFirstRows(*this, {.most_rows = num_rows}, on_error);
                        }));
  if (num_rows == 1 && rows.num_rows == 1) {
    auto copy = CopyOfRow(*rows.batches[0], 0);
    if (!copy.ok()) return rows;  // of a type that cannot be copied: read again next time
    rows.batches[0] = std::move(*copy);
    std::lock_guard<std::mutex> lock(peeked_mutex_);
    known = rows;
  }
  return rows;
}

Result<FirstRows> Source::PeekForms(int64_t num_rows, OnError on_error) const {
  return exec::CatchExceptions([&] {
    return ReadFirstRows(*this, {.most_rows = num_rows, .one_of_each_form = true}, on_error);
  });
}

Result<std::shared_ptr<arrow::Schema>> Source::ColumnsOfShards(const Columns& columns,
                                                               const ColumnTypes& types,
                                                               const std::vector<size_t>& shards,
                                                               bool is_look) const {
  if (!has_file_columns()) return Schema(columns, shards.front());
  if (!is_look) return shard_columns_.Of(*this, columns, types, shards);
  const auto first = Schema(columns, shards.front());
  // Others may have a column that it lacks.
  if (first.status().IsKeyError()) return shard_columns_.Of(*this, columns, types, shards);
  if (!first.ok() || !casts_columns()) return first;
  return types.Apply(**first, /*adds=*/false);
}

Result<std::vector<std::shared_ptr<arrow::Schema>>> Source::ColumnsOfAll() const {
  if (!has_file_columns()) return std::vector<std::shared_ptr<arrow::Schema>>();
  return shard_columns_.OfAll(*this);
}

void Source::RememberColumns(std::vector<std::shared_ptr<arrow::Schema>> columns) const {
  if (columns.size() == shard_names().size()) shard_columns_.Remember(std::move(columns));
}

Result<Blocks> Source::CountBlocks(size_t shard, const ReadContext& context) const {
  ARROW_ASSIGN_OR_RAISE(Blocks blocks, ListBlocks(shard));
  if (!blocks.row_starts.empty()) return blocks;
  ARROW_ASSIGN_OR_RAISE(const int64_t rows, CountRows(shard, context));
  return Blocks{1, {0, rows}, 0};
}

void DecodedBlock::SetRows(std::shared_ptr<arrow::RecordBatch> batch, int64_t skip) {
  num_rows = batch->num_rows();
  skip = std::min(skip, num_rows);
  rows = skip == 0 ? std::move(batch) : batch->Slice(skip);
  runs = {{skip, num_rows - skip}};
}

}  // namespace easydata::source
