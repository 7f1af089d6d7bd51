#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "easydata/base/slab_pool.h"
#include "easydata/base/status.h"
#include "easydata/stream/batch.h"

namespace easydata {

/// One row of one of several batches.
struct RowRef {
  int32_t part;
  int64_t row;
};

/// Makes a batch out of rows of several: `rows` in that order, with their addresses or spans. The
/// parts are matched to `schema` by column name; a column that a part lacks, or has as nulls only,
/// is null in its rows. TypeError where a part has another type. Drop counts are left to the
/// caller.
///
/// Numbers, strings, and lists of numbers are copied run by run; other types take a slower way.
/// `slabs`, where given, lends the memory of fixed-size columns.
Result<Batch> GatherRows(const std::vector<Batch>& parts, const std::vector<RowRef>& rows,
                         const std::shared_ptr<arrow::Schema>& schema, SlabPool* slabs = nullptr);

/// The same of batches that others hold on to: those of shuffled rows have an address for each row,
/// which takes a while to copy.
using SharedBatches = std::vector<std::shared_ptr<const Batch>>;
Result<Batch> GatherRows(const SharedBatches& parts, const std::vector<RowRef>& rows,
                         const std::shared_ptr<arrow::Schema>& schema, SlabPool* slabs = nullptr);

/// Bytes of content that each row holds: values, characters and list elements, not offsets.
std::vector<int64_t> ContentBytesByRow(const arrow::RecordBatch& rows);

}  // namespace easydata
