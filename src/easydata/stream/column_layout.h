#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch.h"
#include "easydata/stream/column_types.h"

namespace easydata {

/// Columns to write, each with its type by name ("" for the type that it has or seems to have).
using WantedColumns = std::optional<std::vector<std::pair<std::string, std::string>>>;

/// Converts a stream's batches to the columns that are written: lists of one length become lists,
/// dictionaries their values, JSON typed columns. Thread-safe.
class ColumnLayout {
 public:
  virtual ~ColumnLayout() = default;

  /// The columns that are written.
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;
  /// An error about a row carries its address.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Convert(const Batch& batch) const = 0;
};

/// Decides what becomes of columns of JSON.
enum class JsonTarget {
  kTyped,   // columns of one type; an error where values do not have a common one
  kText,    // JSON text as it is
  kArrays,  // numbers, strings and lists of numbers typed, anything else JSON text
};

/// Whether the layout depends on the rows: there are columns of JSON to be typed.
bool NeedsSample(const arrow::Schema& input, JsonTarget json);

/// Makes the layout of a stream. Types of JSON columns, and the columns of free-form rows, are
/// those of the rows of `sample`. KeyError where a wanted column is not there.
///
/// `types` are those of some columns, whatever the rows seem to have; a field that no row of the
/// sample has is known by them, too.
Result<std::unique_ptr<ColumnLayout>> MakeColumnLayout(const std::shared_ptr<arrow::Schema>& input,
                                                       const std::vector<Batch>& sample,
                                                       const WantedColumns& wanted, JsonTarget json,
                                                       const ColumnTypes& types = {});

/// Types the columns of JSON of batches by all of their rows: as MakeColumnLayout() and Convert(),
/// with each text parsed once.
Status TypeColumns(JsonTarget json, std::vector<Batch>* batches);

/// Counts the tokens in a batch: values of `input_ids` that `attention_mask`, where there is one,
/// does not mask; 0 where there is no column `input_ids` of lists of integers.
int64_t CountTokens(const arrow::RecordBatch& batch);

}  // namespace easydata
