#pragma once

#include <arrow/type.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace easydata {

/// The form in which a stage wants a column without a type of its own (JSON, Python rows); typed
/// columns keep their type.
enum class ColumnKind {
  kAny,     // a typed column as it is; JSON values as JSON text (json_column.h)
  kText,    // utf8; a JSON value that is not a string is an error, a missing or null one is null
  kTokens,  // list<int32>
};

struct ColumnRequest {
  std::string name;
  ColumnKind kind = ColumnKind::kAny;
  /// Whether plans name it. Not where a later version reads a column more, which few rows have:
  /// states of plans that did not read it stay good.
  bool is_named = true;
};

/// The columns that stages downstream read, or nothing for all of them: a source without a schema
/// then gives the one column kRowColumn. A requested column that a typed source lacks is an error
/// that names it and its near misses.
using Columns = std::optional<std::vector<ColumnRequest>>;

/// The column of a name among those that are asked for, const or not; null where it is not.
template <typename Requests>
auto* FindColumn(Requests& columns, std::string_view name) {
  const auto found = std::ranges::find(columns, name, &ColumnRequest::name);
  return found == columns.end() ? nullptr : &*found;
}

/// Whether a column holds lists of any length: tokens, masks.
inline bool IsList(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST;
}

}  // namespace easydata
