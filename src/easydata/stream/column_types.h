#pragma once

#include <arrow/type_fwd.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"

namespace easydata {

/// Names of types by paths of columns, as users give them.
using NamedTypes = std::vector<std::pair<std::string, std::string>>;

/// The types that some columns are to have: {"v": "string", "meta.b": "int64"}. A path names a
/// column, or a field of the objects in one, and passes through lists. Immutable.
class ColumnTypes {
 public:
  ColumnTypes() = default;
  /// Invalid where a name is no type (json::TypeFromName), or a path is empty or within another.
  /// `fills`: columns that Cast() adds, with nulls, where a row or a batch has none.
  static Result<ColumnTypes> Make(const NamedTypes& names, std::vector<std::string> fills = {});

  bool empty() const { return root_.fields.empty() && fills_.empty(); }

  /// The schema with these types: of columns and fields that it has, and those that are filled;
  /// with `adds`, of others, too.
  Result<std::shared_ptr<arrow::Schema>> Apply(const arrow::Schema& schema, bool adds) const;

  /// The batch with values of these types, in typed columns, columns of JSON and whole rows of it:
  /// numbers become text, and text the number that it spells; a text column has other values as
  /// their JSON. An error about a row (a value that is none of its type) carries its address.
  Result<Batch> Cast(Batch batch) const;

  /// Appends the value of column `column`, which is JSON, to `out` with these types. TypeError,
  /// naming the path, where a value is none of its type.
  Status CastValue(const std::string& column, std::string_view json, std::string* out) const;

  /// The named columns, in order.
  std::vector<std::string> columns() const;
  const std::vector<std::string>& fills() const { return fills_; }

  struct Node {
    std::shared_ptr<arrow::DataType> type;  // null: of its fields
    std::map<std::string, Node, std::less<>> fields;
  };

 private:
  Status CastRow(std::string_view json, std::string* out) const;
  Result<std::shared_ptr<arrow::Array>> CastJson(const Batch& batch, int column) const;
  Result<std::shared_ptr<arrow::Array>> CastTyped(
      const Batch& batch, int column, const std::shared_ptr<arrow::DataType>& type) const;

  Node root_;
  std::vector<std::string> fills_;
};

}  // namespace easydata
