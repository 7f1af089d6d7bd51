#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>

namespace easydata::loader {

/// Σ mod 2^64 over rows and columns of XXH3(row number, column name, type, bytes of the value),
/// where the first of the rows has number `first_row`. Independent of batches, ranks and padding:
/// digests of parts add up.
///
/// The bytes of a list are those of its values, whatever kind of list holds them; a missing value
/// has none.
uint64_t RowDigest(const arrow::RecordBatch& batch, int64_t first_row);

}  // namespace easydata::loader
