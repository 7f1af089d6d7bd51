#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/stream/batch_op.h"
#include "operators/python_error.h"

namespace easydata {

/// Does to a row of Python's what an operation on columns does to a batch.
///
/// Of the values the operation may see whether they are there, None, and of texts and lists whether
/// they are empty; they come out as the objects that they are. So the operation works on a batch of
/// one row that has no more to see, and rows that look alike are done alike: the last row's result
/// is kept.
class RowOp {
 public:
  /// `op` keeps what it is given, but for columns that it adds.
  explicit RowOp(std::shared_ptr<const BatchOp> op) : op_(std::move(op)) {}

  /// A new dict, or None where the row goes. TypeError for what is no dict of fields by name. Needs
  /// the GIL.
  nb::object Apply(nb::handle row);

 private:
  /// What an operation sees of a value.
  enum class Look : char { kNull, kEmptyText, kText, kEmptyList, kList, kOther };
  /// A field that comes out: that of the row with this index, or a value that was added.
  struct Made {
    std::string name;
    int from = -1;
    std::string json;
  };

  static Look LookAt(nb::handle value);
  /// A column of one value that looks so.
  static Result<std::shared_ptr<arrow::Array>> StandIn(Look look);
  /// Runs the operation on a row of these fields.
  Status Run(const std::vector<std::string>& names, const std::vector<Look>& looks);

  const std::shared_ptr<const BatchOp> op_;
  // Of the last row.
  std::vector<std::string> names_;
  std::vector<Look> looks_;
  bool has_run_ = false;
  bool stays_ = false;
  std::vector<Made> made_;
};

}  // namespace easydata
