#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>

#include "operators/python_error.h"

namespace easydata {

/// One column of Python's plain values: all of them str, or int of 64 bits, or finite float, or
/// bool; none missing. Needs the GIL.
class PlainColumn {
 public:
  PlainColumn();
  ~PlainColumn();
  PlainColumn(PlainColumn&&) noexcept;

  /// Whether `value` is plain and of the same kind as those before. It has to live until Append().
  bool Look(PyObject* value);
  /// Adds the value that was looked at last.
  Status Append();

  int64_t num_bytes() const;
  Result<std::shared_ptr<arrow::Array>> Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Columns of rows that all have the same keys, in one order, with plain values. Needs the GIL.
class PlainRows {
 public:
  PlainRows();
  ~PlainRows();

  /// Adds a dict; false, and nothing is added, where it is not like the rows before, or not plain.
  Result<bool> Append(PyObject* dict);

  int64_t num_rows() const;
  int64_t num_bytes() const;
  /// The rows as an array of structs; the next row begins new ones. At least one is there.
  Result<std::shared_ptr<arrow::Array>> Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace easydata
