#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/stream/batch_op.h"
#include "easydata/stream/columns.h"
#include "operators/lending.h"
#include "operators/python_error.h"

namespace easydata {

/// What a Python callable makes of a row.
enum class CallableKind {
  kFilter,  // true or false: the row stays as it is, columns and types included, or goes
  kMap,     // a dict, or None: the row goes
  kExpand,  // an iterable of dicts
};

/// One of several callables that a row goes through.
struct CalledStep {
  Borrowed callable;
  /// It returns an iterable of rows, not a row or None.
  bool expands = false;
  /// An exception that it returns refuses the row (plan/refused_rows.h).
  bool refuses = false;
};

/// Python callables as a batch op: rows become dicts, the callables are called for each, one after
/// the other, and what the last one returns becomes the columns `output` (all of them: one column
/// of JSON objects). The GIL is held from the first row to the last.
///
/// Their exceptions come out as themselves, with the row's address; rows that go are counted under
/// `name`. A filter is one callable.
std::shared_ptr<const BatchOp> CallableOp(std::vector<CalledStep> steps, CallableKind kind,
                                          Columns output, std::string name);

}  // namespace easydata
