#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/stream/columns.h"

namespace easydata::transform {

/// Which fields of a row a step reads and gives, so that no others are read upstream of it.
struct FieldUse {
  /// It may read any field.
  bool reads_all = false;
  /// It reads these fields, in these forms, and gives none that is not made of them.
  Columns reads_only;
  /// It gives these fields alone, of those that a row has.
  std::optional<std::vector<std::string>> selected;
  /// Fields that it gives other names, from old to new ones.
  std::vector<std::pair<std::string, std::string>> renamed;
  /// Fields that it gives whatever the row has there.
  std::vector<std::string> written;
  /// Fields of which it gives what it made, or what the row has there.
  std::vector<std::string> changed;
  std::vector<std::string> read;
  /// Fields that it reads, too, and that plans do not name (ColumnRequest::is_named).
  std::vector<std::string> read_unnamed;

  /// What a row must have so that `wanted` come out.
  Columns Needs(const Columns& wanted) const;
};

}  // namespace easydata::transform
