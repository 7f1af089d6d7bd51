#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string_view>

#include "easydata/source/source.h"

namespace easydata::source {

/// The schema of JSON rows for these columns: utf8 for kText, list<int32> for kTokens, JSON text
/// (json_column.h) for kAny, and the one column kRowColumn where all were asked for.
std::shared_ptr<arrow::Schema> JsonRowSchema(const Columns& columns);

/// Makes columns of JSON objects, one at a time. Each row is checked whole, so that what json.loads
/// refuses is refused here too, wherever it is in the row.
class JsonRows {
 public:
  /// For rows of at most `max_bytes` each and `total_bytes` together.
  JsonRows(const Columns& columns, const std::shared_ptr<arrow::Schema>& schema, size_t total_bytes,
           size_t max_bytes);
  ~JsonRows();

  /// Adds a row; `text` is one JSON object with kChunkPadding readable bytes after it. False when
  /// it is not one or a field has the wrong type: then nothing was added and `bad` has the reason
  /// and the message.
  Result<bool> Append(std::string_view text, BadRow* bad);

  Result<std::shared_ptr<arrow::RecordBatch>> Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace easydata::source
