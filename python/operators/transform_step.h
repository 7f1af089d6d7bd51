#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "easydata/plan/logical_plan.h"
#include "easydata/trainer/example_maker.h"
#include "easydata/transform/column_op.h"
#include "easydata/transform/field_use.h"
#include "operators/callable_op.h"
#include "operators/lending.h"
#include "operators/python_error.h"

namespace easydata {

/// Finds out which fields the rows have that a step is given.
using FindForms = std::function<Result<trainer::RowForms>()>;

/// What a plan knows of one step of a chain of transforms.
struct TransformStep {
  TransformStep(CalledStep called, std::string name, std::string text)
      : name(std::move(name)), text(std::move(text)), called(std::move(called)) {}

  /// The type of the transform, for errors and counts, and what it is in plans and states.
  std::string name;
  std::string text;
  bool keeps_rows = false;
  bool has_identity = true;
  std::string identity;  // see PlanNode
  transform::FieldUse fields;
  /// The transform itself: it is called for a row.
  CalledStep called;
  /// A filter's test: rows that pass stay as they are.
  std::optional<Borrowed> test;

  /// The same work on whole columns; null: there is none.
  const transform::ColumnOpKind* op = nullptr;
  std::shared_ptr<const nlohmann::json> op_options;

  /// The same work by a part of the engine, which gives the columns that are asked for; nothing
  /// where it gives them only if they are named. It may ask for the forms of its rows. Null: there
  /// is none.
  std::function<Result<std::optional<StreamPlan>>(const StreamPlan&, const Columns&,
                                                  const FindForms&)>
      make_natively;
  /// Columns with types that always come of make_natively; empty: none do.
  std::vector<std::string> columns;
  /// An error where a stream's first row, which has these fields, shows that all are of no use.
  std::function<Status(const std::vector<std::string>&)> check_first_row;

  /// The step upstream of a consumer that splits documents; null: this one.
  std::shared_ptr<const TransformStep> whole;

  /// The node of its work row by row, as `name`, downstream of `upstream`.
  std::shared_ptr<PlanNode> MakeNode(const char* name, const StreamPlan& upstream) const;

  bool gives_columns() const { return !columns.empty(); }
  /// Names of the columns that come of columns `names`.
  Result<std::vector<std::string>> NamesAfter(const std::vector<std::string>& names) const;
};

using TransformSteps = std::vector<std::shared_ptr<const TransformStep>>;

/// Makes rows of those of `root`, step by step.
///
/// Steps work on columns as long as that is exact; what lies between two such steps is one
/// callable, so that rows become Python objects once.
plan::LogicalPlanPtr Transformed(plan::LogicalPlanPtr root, TransformSteps steps);

}  // namespace easydata
