#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/column_values.h"
#include "easydata/jinja/value.h"

namespace easydata::chat {

/// Gives the fields of a row by their names.
class FieldGetter {
 public:
  virtual ~FieldGetter() = default;

  /// The value of a field; none where the row does not have it, or has null there.
  virtual Result<jinja::Value> Get(std::string_view name) const = 0;
};

/// Reads the fields of rows as values, out of typed columns, columns of JSON, or whole JSON rows.
class RowFields : public FieldGetter {
 public:
  RowFields(const arrow::RecordBatch& rows, ValueReader* reader);

  /// Goes to a row; its values are made in `arena`.
  Status GoTo(int64_t row, jinja::Arena* arena);

  Result<jinja::Value> Get(std::string_view name) const override;

  /// The same for one who does not say yet that he reads it.
  Result<jinja::Value> LookAt(std::string_view name) const;

  /// Says that a field is read which was looked at.
  void MarkRead(std::string_view name) const;

  /// The names of the fields that the row has, as far as they were read, for errors.
  std::vector<std::string> Names() const;

  /// The same of those fields whose values say something: no text that is blank or an empty list or
  /// object, and none of these themselves.
  std::vector<std::string> NamesSaying() const;

  /// Has the names of the fields that are read, and that the row has, kept in `*names`; null: not.
  void KeepRead(std::set<std::string>* names) { kept_ = names; }

 private:
  struct FieldColumn {
    const arrow::Array* array;
    bool is_json;
  };

  ValueReader* const reader_;
  const arrow::Array* whole_ = nullptr;  // rows as JSON
  // Rows ask for names that most of them do not have.
  std::vector<std::pair<std::string, FieldColumn>> columns_;
  int64_t row_ = 0;
  jinja::Arena* arena_ = nullptr;
  jinja::Value whole_row_ = jinja::Value::None();
  std::set<std::string>* kept_ = nullptr;
};

}  // namespace easydata::chat
