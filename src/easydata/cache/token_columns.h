#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>

#include "easydata/base/status.h"
#include "easydata/cache/token_layout.h"

namespace easydata::cache {

/// A list of integers as it is stored.
struct ListParts {
  ColumnEncoding encoding = ColumnEncoding::kPlain;
  int64_t num_values = 0;
  uint64_t constant = 0;
  std::shared_ptr<arrow::Buffer> offsets;       // int64, from 0
  std::shared_ptr<arrow::Buffer> values;        // null where they are one number
  std::shared_ptr<arrow::Buffer> valid_rows;    // null where all are
  std::shared_ptr<arrow::Buffer> valid_values;  // null where all are
};

/// Takes a list of integers apart: its rows alone where it is a slice. The values decide how they
/// are stored. Invalid where its offsets are not in order, or it is too long.
Result<ListParts> EncodeList(const arrow::Array& list);

/// Makes the values of `to`, of `width` bytes each, of those that are stored as `encoding` says.
void WidenIntegers(ColumnEncoding encoding, const uint8_t* from, int64_t count, int64_t width,
                   uint8_t* to);

/// `count` times the lowest `width` bytes of a number.
void RepeatInteger(uint64_t number, int64_t count, int64_t width, uint8_t* to);

/// Makes 32-bit offsets of 64-bit ones, or checks them where `narrow` is null. Invalid where they
/// do not go from 0 to `last`, or back.
Status TakeOffsets(const int64_t* offsets, int64_t rows, int64_t last, int32_t* narrow);

}  // namespace easydata::cache
