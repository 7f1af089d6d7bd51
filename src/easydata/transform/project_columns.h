#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "easydata/stream/batch_op.h"

namespace easydata::transform {

/// Keeps the named columns, in this order. Those that a batch lacks are left out.
std::shared_ptr<const BatchOp> SelectColumns(std::vector<std::string> names);

/// Drops the named columns.
std::shared_ptr<const BatchOp> DropColumns(std::vector<std::string> names);

/// Decides which of several columns keeps a name that they share after renaming.
enum class NameClash {
  kLaterWins,    // the later one, as when a dict is rebuilt key by key
  kRenamedWins,  // the renamed one, as when a key is moved onto another
};

/// Renames columns, in place and order; `names` holds pairs (old, new).
///
/// Columns that then share a name are joined: a typed column always has a value, a JSON column
/// (json_column.h) only where its slot is not null. With kLaterWins a row that has both of two JSON
/// columns is an error, since a batch does not tell which key came first in that row.
std::shared_ptr<const BatchOp> RenameColumns(std::vector<std::pair<std::string, std::string>> names,
                                             NameClash clash = NameClash::kLaterWins);

}  // namespace easydata::transform
