#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/column_values.h"
#include "easydata/jinja/value.h"

namespace easydata::trainer {

/// Reads the fields of rows as values, out of typed columns, columns of JSON, or whole JSON rows.
class RowFields {
 public:
  RowFields(const arrow::RecordBatch& rows, chat::ValueReader* reader);

  /// Goes to a row; its values are made in `arena`.
  Status GoTo(int64_t row, jinja::Arena* arena);

  /// The value of a field; none where the row does not have it, or has null there.
  Result<jinja::Value> Get(std::string_view name) const;

  /// The names of the fields that the row has, as far as they were read, for errors.
  std::vector<std::string> Names() const;

 private:
  struct FieldColumn {
    const arrow::Array* array;
    bool is_json;
  };

  chat::ValueReader* const reader_;
  const arrow::Array* whole_ = nullptr;  // rows as JSON
  std::unordered_map<std::string, FieldColumn> columns_;
  int64_t row_ = 0;
  jinja::Arena* arena_ = nullptr;
  jinja::Value whole_row_ = jinja::Value::None();
};

}  // namespace easydata::trainer
