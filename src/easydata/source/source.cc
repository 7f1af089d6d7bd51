#include "easydata/source/source.h"

#include <arrow/record_batch.h>

#include <algorithm>

namespace easydata {

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

}  // namespace easydata
