#include "easydata/source/source.h"

#include <arrow/record_batch.h>

#include <algorithm>

namespace easydata {
void DecodedBlock::SetRows(std::shared_ptr<arrow::RecordBatch> batch, int64_t skip) {
  num_rows = batch->num_rows();
  skip = std::min(skip, num_rows);
  rows = skip == 0 ? std::move(batch) : batch->Slice(skip);
  runs = {{skip, num_rows - skip}};
}

}  // namespace easydata
