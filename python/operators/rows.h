#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "easydata/stream/batch.h"
#include "easydata/stream/columns.h"
#include "operators/python_error.h"

namespace easydata {

class JsonValues;
namespace json {
class JsonElements;
}

/// Rows as plain Python dicts, and back. All of it needs the GIL.

/// The columns of JSON text of some rows, parsed before they become dicts, which needs no GIL. The
/// next rows use the same memory.
class ParsedRows {
 public:
  ParsedRows();
  ~ParsedRows();

  void Parse(const arrow::RecordBatch& rows);

  /// Null where the texts of a column are to be parsed one by one, or are no JSON.
  const json::JsonElements* column(int c) const {
    return is_parsed_[c] ? texts_[c].get() : nullptr;
  }

 private:
  std::vector<std::unique_ptr<json::JsonElements>> texts_;  // by column
  std::vector<bool> is_parsed_;
};

/// Makes dicts of a stream's batches; keeps what batches of one schema share.
///
/// Columns of JSON text come as json.loads makes them, the key left out where the slot is null;
/// kRowColumn is the row itself, to which the other columns are added. Everything else equals
/// pyarrow's to_pylist().
class RowConverter {
 public:
  RowConverter();
  ~RowConverter();

  /// Dicts of rows `offset` .. `offset + length`.
  nb::list Convert(const arrow::RecordBatch& rows, int64_t offset, int64_t length);

  /// The same one by one, so that the memory of a row that the caller let go is used for the next
  /// while it is in the cache: Start() makes Row(0) .. Row(length - 1) those rows until the next
  /// Start() or Finish(). Row gives a new reference, or null with a Python exception set.
  void Start(const arrow::RecordBatch& rows, int64_t offset, int64_t length);
  /// The same for all rows of a batch, parsed before; both live until Finish(). Call Begin() before
  /// each range of rows: what only pyarrow can convert is converted there, so that an error is one
  /// of that range.
  void Start(const arrow::RecordBatch& rows, const ParsedRows& parsed);
  void Begin(int64_t begin, int64_t length);
  PyObject* Row(int64_t i);
  void Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

nb::list RowsToPython(const Batch& batch);

/// The values of an array, as a row has them; with `json` of its JSON texts, null ones as None.
nb::list ValuesToPython(const std::shared_ptr<arrow::Array>& array, JsonValues* json = nullptr);

/// Columns that were made of dicts, of which those of JSON may be as typed values yet.
struct UnwrittenRows {
  std::shared_ptr<arrow::Schema> schema;
  int64_t num_rows = 0;
  arrow::ArrayVector columns;
  std::vector<bool> are_plain;  // by column: it is JSON, whose text is to be written

  /// Writes the text of JSON, which keeps its values (json/typed_text.h). Needs no GIL.
  Result<std::shared_ptr<arrow::RecordBatch>> Write() const;
};

/// Makes columns of dicts, a row at a time: utf8 for kText, list<int32> for kTokens, JSON text for
/// kAny, the one column kRowColumn for all columns. numpy's scalars and arrays are taken as numbers
/// and lists.
class RowColumns {
 public:
  explicit RowColumns(const Columns& columns);
  ~RowColumns();

  /// Adds a row. TypeError, or Invalid, for what cannot be held, naming the column and the type:
  /// then Finish() gives the rows before, and nothing can be added in between.
  Status Append(nb::handle row);

  /// Rows that were added since Finish().
  int64_t num_rows() const;
  /// Bytes of text and token ids of these.
  int64_t num_bytes() const;

  /// The columns of these rows; the next row begins new ones.
  Result<std::shared_ptr<arrow::RecordBatch>> Finish();
  /// The same without the work that needs no GIL.
  Result<UnwrittenRows> FinishUnwritten();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A value as JSON text, as json.dumps writes it (without ASCII escapes). TypeError where JSON
/// cannot hold it.
Status JsonTextOf(nb::handle value, std::string* out);

/// What json.loads makes of `text`.
nb::object JsonTextToPython(std::string_view text);

}  // namespace easydata
