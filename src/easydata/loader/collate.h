#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"
#include "easydata/stream/column_padding.h"

namespace easydata::loader {

/// Says how rows of different lengths are padded to one.
struct PadSpec {
  /// Nothing: what the column is padded with otherwise.
  std::optional<double> value = {};
  /// Pads before the values instead of after them; nothing: as the column is otherwise.
  std::optional<bool> left = {};
  /// Values a row: the least of these, in ascending order, that holds the longest row of the batch
  /// (of all ranks); without any, as many as that row has.
  std::vector<int64_t> lengths = {};
};

/// What a PadSpec comes to.
struct Padding {
  double value = 0;
  bool left = false;
  std::vector<int64_t> lengths = {};
};

/// How columns are padded: as their PadSpec says, else as their maker does, whom the plan or the
/// file knows (ColumnPadding), else by their names: `labels` with -100, `input_ids` with the pad
/// token, others with 0.
struct PadOptions {
  std::map<std::string, PadSpec> columns = {};
  /// The stream may lack some of them.
  bool may_miss = false;
  /// The pad token of the tokenizer that the tokens come from, where it is known.
  std::optional<int64_t> known_pad_id = {};
  /// The one that is asked for in its place.
  std::optional<int64_t> pad_token_id = {};
  ColumnPaddingsPtr makers = {};

  /// The one place that says how a column is padded.
  Padding For(const arrow::Field& column) const;
};

/// One column of a batch, as training gets it.
struct LoaderColumn {
  std::string name;
  /// Dense values of shape [rows, ...], row by row: type of one value (never a list; BOOL has one
  /// byte a value).
  std::shared_ptr<arrow::DataType> dtype;
  std::vector<int64_t> shape;
  const uint8_t* data = nullptr;
  std::shared_ptr<arrow::Buffer> buffer;  // what `data` points into
  /// How its rows are filled up where some are longer.
  Padding padding = {};
  /// Where there are no dense values: one Arrow value a row (strings, JSON text, nested values).
  std::shared_ptr<arrow::Array> values;
  bool is_json = false;

  bool dense() const { return dtype != nullptr; }
  /// Bytes of the values; whatever else lies in their buffers is not counted.
  Result<int64_t> bytes() const;
};

/// The longest row of each column of lists that has no fixed length.
using ColumnLengths = std::map<std::string, int64_t>;

/// Updates the longest lengths with the rows of `batch`. Invalid, with its address, for the first
/// row that is longer than its column's padding.
Status MeasureLengths(const Batch& batch, const PadOptions& options, ColumnLengths* lengths);

/// Invalid, with its address, for the first row of a column that lacks a number which Collate()
/// cannot do without; `lengths` have been measured on these rows.
Status CheckNumbers(const Batch& batch, const PadOptions& options, const ColumnLengths& lengths);

/// Refuses rows of tokens without the labels or masks that rows beside them have, as a mix of
/// datasets with other columns has them: they would be padded, and so nothing of them be trained.
/// Columns that `options` names are meant.
Status CheckTrained(const Batch& batch, const PadOptions& options);

/// Makes dense columns of rows; copies nothing where all rows have one length and none is added.
///
/// `fill` rows are added at the end: `attention_mask` 0, `labels` -100, tokens the pad value, other
/// numbers 0, other values null. A missing number is an error unless the column has a PadSpec,
/// whose value it then gets (NaN for floats); a missing list is an empty one. `lengths` have been
/// measured on these rows with these options, and may know of more rows.
Result<std::vector<LoaderColumn>> Collate(const Batch& batch, int64_t fill,
                                          const ColumnLengths& lengths, const PadOptions& options);

}  // namespace easydata::loader
