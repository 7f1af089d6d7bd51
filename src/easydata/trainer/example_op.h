#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/batch_op.h"
#include "easydata/trainer/example_maker.h"

namespace easydata::trainer {

struct ExampleOpOptions {
  /// Columns to keep beside what is made, as far as rows have them.
  std::vector<std::string> keep = {};
  /// Errors say where their row is.
  bool errors_have_addresses = true;
  /// What becomes of rows in error: null: they end the stream. Else it gives the text that stands
  /// in column `refused_column` of such a row, in whose other columns nothing is.
  std::function<Result<std::string>(const Batch& batch, int64_t row, const std::string& error)>
      refuse = nullptr;
  std::shared_ptr<arrow::Field> refused_column = nullptr;
};

/// Makes examples for a trainer of rows: typed columns, columns of JSON text, or whole JSON rows.
///
/// What is left out is counted in Batch::dropped by reason, with its tokens; examples that are cut
/// are counted as "truncated", as those of TokenizeOp are. The examples of one row follow each
/// other, as its sub-rows.
std::shared_ptr<const BatchOp> ExampleOp(std::shared_ptr<const ExampleMaker> maker,
                                         std::shared_ptr<const ExampleContext> context,
                                         ExampleOpOptions options);

}  // namespace easydata::trainer
