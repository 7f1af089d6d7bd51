#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace simdjson::dom {
class element;
}

namespace easydata::json {

/// A column that is made of JSON.
struct JsonColumnSpec {
  std::string name;
  /// Null: the value's JSON text, for formats that hold JSON (see json_column.h).
  std::shared_ptr<arrow::DataType> type;
};

/// Makes typed columns out of rows that are JSON objects, or out of JSON values. For one thread.
class JsonColumnBuilder {
 public:
  /// `closed`: a key that no column takes is an error that names it.
  JsonColumnBuilder(std::vector<JsonColumnSpec> columns, bool closed);
  ~JsonColumnBuilder();

  /// Adds a row, a JSON object; keys that it lacks are null. An error names key and type but not
  /// the row.
  Status AppendRow(std::string_view json);
  /// Adds a value to the only column.
  Status AppendValue(std::string_view json);
  /// The same for values that are parsed (json_elements.h).
  Status AppendRow(const simdjson::dom::element& row);
  Status AppendValue(const simdjson::dom::element& value);
  Status AppendNull();

  Result<std::vector<std::shared_ptr<arrow::Array>>> Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace easydata::json
