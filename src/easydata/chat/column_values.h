#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "easydata/base/status.h"
#include "easydata/jinja/arena.h"
#include "easydata/jinja/value.h"

namespace easydata::chat {

/// Makes values for templates of Arrow columns and of JSON; one text at a time. Who knows more than
/// the engine (a Python interpreter) may override how a row's texts are read.
class ValueReader {
 public:
  ValueReader();
  virtual ~ValueReader();
  ValueReader(const ValueReader&) = delete;
  ValueReader& operator=(const ValueReader&) = delete;

  /// Row `i` of a column: text stays the column's, members of structs that are null are left out,
  /// as data sets have every key of any row. `is_json` says that the column holds JSON text
  /// (json/json_column.h). NotImplemented for types that no template knows (binary data, times),
  /// and for what ReadJson does not read.
  Result<jinja::Value> ReadRow(const arrow::Array& column, int64_t i, bool is_json,
                               jinja::Arena* arena);

  /// A JSON text, copied into `arena`. NotImplemented for what is no JSON, and for what Python's
  /// json.loads reads beyond the standard.
  Result<jinja::Value> ReadJson(std::string_view text, jinja::Arena* arena);

  /// What a string holds that is a JSON list or object; other values stay.
  virtual Result<jinja::Value> Decoded(const jinja::Value& value, jinja::Arena* arena);

  /// A text in lower case. NotImplemented for text beyond ASCII.
  virtual Result<std::string> Lowercased(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace easydata::chat
