#pragma once

#include <arrow/type_fwd.h>

#include <functional>
#include <memory>
#include <string>

#include "easydata/plan/logical_plan.h"
#include "easydata/stream/batch.h"
#include "easydata/trainer/example_op.h"

namespace easydata::plan {

// Rows that cannot be used are marked by the tasks that find them and taken out by the thread that
// pulls: only there is the address of a row known, and that nobody reads it twice.

/// The column that says which rows are refused: null, or JSON {"reason", "error", "row"}. It is the
/// last one of a batch; a file may have a column of the same name.
std::shared_ptr<arrow::Field> RefusedField();

/// The text of a row that has columns, as a file of refused rows is to have it.
using RowText = std::function<Result<std::string>(const Batch& batch, int64_t row)>;
/// Writes a row as JSON, as json::AppendJsonLines does, with its errors.
Result<std::string> JsonRowText(const Batch& batch, int64_t row);

/// What row `row` of a batch, as it was read, is marked with; it is counted under `reason`. A JSON
/// row is kept to the byte, others as `text` has them; an error where that has one.
Result<std::string> Refusal(const Batch& batch, int64_t row, const std::string& reason,
                            const std::string& error, const RowText& text = JsonRowText);

/// Has rows in error marked, under "refused", in place of ending the stream.
void RefuseErrors(RowText text, trainer::ExampleOpOptions* options);

/// Takes the refused rows and their column out: they are counted by reason, told to `report` (the
/// first ten, then each tenfold number) unless it is null, and put into the file `quarantine_path`
/// unless that is empty.
StreamPlan TakeRefusedOut(StreamPlan upstream, std::string quarantine_path,
                          std::function<void(const std::string&)> report);

/// Reads the columns that are asked for out of the whole rows of `rows`; those that do not have
/// them in their kinds, or no text in `column`, are refused.
LogicalPlanPtr ColumnsOrRefused(LogicalPlanPtr rows, std::string column,
                                RowText text = JsonRowText);

/// Takes the refused rows out of what `input` makes, as TakeRefusedOut() does.
LogicalPlanPtr RefusedTakenOut(LogicalPlanPtr input, std::string quarantine_path,
                               std::function<void(const std::string&)> report);

}  // namespace easydata::plan
