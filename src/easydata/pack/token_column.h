#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "easydata/base/status.h"

namespace easydata::pack {

/// A column of integer lists of one record batch, read as int32: list, large_list or
/// fixed_size_list of any integer type or of bool. Or of nulls alone.
class TokenColumn {
 public:
  /// TypeError, naming the column and its type, where it holds anything else.
  static Status CheckType(const std::string& name, const arrow::DataType& type);
  static Result<TokenColumn> Make(std::shared_ptr<arrow::Array> lists);

  bool IsNull(int64_t row) const;
  int64_t Length(int64_t row) const;
  /// Invalid where a value of the row is null or does not fit into int32.
  Status CheckValues(int64_t row) const;
  /// Writes values [offset, offset + length) of the row's list.
  void Copy(int64_t row, int64_t offset, int64_t length, int32_t* out) const;
  int32_t Value(int64_t row, int64_t i) const;
  /// Begins to load the last int32 of the row, which is far from what was read before.
  void PrefetchLast(int64_t row) const;

 private:
  int64_t Start(int64_t row) const;

  std::shared_ptr<arrow::Array> lists_;
  std::shared_ptr<arrow::Array> values_;
  const int32_t* offsets_ = nullptr;
  const int64_t* large_offsets_ = nullptr;
  int64_t fixed_length_ = 0;
  arrow::Type::type type_ = arrow::Type::NA;
  const void* data_ = nullptr;  // null for bool
  bool has_null_values_ = false;
};

}  // namespace easydata::pack
