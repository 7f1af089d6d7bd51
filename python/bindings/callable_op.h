#pragma once

#include <memory>
#include <string>

#include "bindings.h"
#include "easydata/stream/batch_op.h"
#include "easydata/stream/columns.h"
#include "lending.h"

namespace easydata {

/// What a Python callable makes of a row.
enum class CallableKind {
  kFilter,  // true or false: the row stays as it is, columns and types included, or goes
  kMap,     // a dict, or None: the row goes
  kExpand,  // an iterable of dicts
};

/// A Python callable as a batch op: rows become dicts, the callable is called for each, and what it
/// returns becomes the columns `output` (all of them: one column of JSON objects). The GIL is held
/// from the first row to the last.
///
/// Its exception comes out as itself, with the row's address; rows that go are counted under
/// `name`. Where it `refuses` (kMap only), an exception that it returns refuses the row
/// (refused_rows.h).
std::shared_ptr<const BatchOp> CallableOp(Borrowed callable, CallableKind kind, Columns output,
                                          std::string name, bool refuses = false);

}  // namespace easydata
