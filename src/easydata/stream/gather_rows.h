#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "easydata/base/slab_pool.h"
#include "easydata/base/status.h"
#include "easydata/stream/batch.h"

namespace easydata {

/// Makes a batch out of rows of several: `rows` in that order, with their addresses or spans. The
/// parts are matched to `schema` by column name; a column that a part lacks, or has as nulls only,
/// is null in its rows. TypeError where a part has another type. Drop counts are left to the
/// caller.
///
/// Numbers, strings, and lists of numbers are copied run by run; other types take a slower way.
/// `slabs`, where given, lends the memory of fixed-size columns.
Result<Batch> GatherRows(const std::vector<Batch>& parts, const std::vector<RowRef>& rows,
                         const std::shared_ptr<arrow::Schema>& schema, SlabPool* slabs = nullptr);

/// The same for batches with other owners: those of shuffled rows have an address for each row,
/// which takes a while to copy.
Result<Batch> GatherRows(const SharedBatches& parts, const std::vector<RowRef>& rows,
                         const std::shared_ptr<arrow::Schema>& schema, SlabPool* slabs = nullptr);

/// The column of a part that goes into `field` of the gathered batch; null where it has nulls only.
/// TypeError where it has another type.
Result<std::shared_ptr<arrow::Array>> ColumnOfPart(const Batch& part, const arrow::Field& field);

/// Bytes of content that each row holds: values, characters and list elements, not offsets.
std::vector<int64_t> ContentBytesByRow(const arrow::RecordBatch& rows);

}  // namespace easydata
