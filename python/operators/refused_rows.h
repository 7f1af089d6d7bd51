#pragma once

#include <arrow/type_fwd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "easydata/plan/logical_plan.h"
#include "easydata/stream/batch.h"
#include "easydata/stream/columns.h"
#include "operators/python_error.h"

namespace easydata {

class BatchOp;

/// Rows that cannot be used are marked by the tasks that find them and taken out by the thread that
/// pulls: only there is the address of a row known, and that nobody reads it twice.

/// The column that says which rows are refused: null, or JSON {"reason", "error", "row"}.
std::shared_ptr<arrow::Field> RefusedField();

/// What row `row` of a batch, as it was read, is marked with; it is counted under `reason`. A JSON
/// row is kept to the byte. Needs the GIL.
std::string Refusal(const Batch& batch, int64_t row, const std::string& reason,
                    const std::string& error);

/// Makes columns of whole rows; rows that do not have them in their kinds, or no text in `column`,
/// are refused.
std::shared_ptr<const BatchOp> ReadOrRefuse(std::vector<ColumnRequest> columns, std::string column);

/// Takes the refused rows and their column out: they are counted by reason, told to `report` (the
/// first ten, then each tenfold number), and put into the file `quarantine_path`, unless it is
/// empty.
StreamPlan TakeRefusedOut(StreamPlan upstream, std::string quarantine_path,
                          std::function<void(const std::string&)> report);

/// Reads the columns that are asked for out of the whole rows of `rows`; those that do not have
/// them in their kinds, or no text in `column`, are refused.
plan::LogicalPlanPtr ColumnsOrRefused(plan::LogicalPlanPtr rows, std::string column);

/// TakeRefusedOut of what `input` makes.
plan::LogicalPlanPtr RefusedTakenOut(plan::LogicalPlanPtr input, std::string quarantine_path,
                                     std::function<void(const std::string&)> report);

}  // namespace easydata
