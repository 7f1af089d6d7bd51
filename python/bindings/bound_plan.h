#pragma once

#include <memory>
#include <utility>

#include "bindings.h"
#include "easydata/plan/logical_plan.h"
#include "operators/lending.h"
#include "operators/transform_step.h"

namespace easydata {

/// What Python holds as `_native.Plan`.
struct BoundPlan {
  /// `owned`: what it and its inputs borrow.
  BoundPlan(plan::LogicalPlanPtr plan, Owned owned)
      : plan(std::move(plan)), owned(std::move(owned)) {}

  plan::LogicalPlanPtr plan;
  Owned owned;
};

/// What Python holds as `_native.Step`.
struct BoundStep {
  BoundStep(TransformStep step, Owned owned)
      : step(std::make_shared<const TransformStep>(std::move(step))), owned(std::move(owned)) {}

  std::shared_ptr<const TransformStep> step;
  Owned owned;
};

/// {"name": "any" | "text" | "tokens"}.
using NamedKinds = nb::typed<nb::mapping, nb::str, nb::str>;

/// None for all columns.
Columns ColumnsFromPython(const std::optional<NamedKinds>& columns);

/// Reports a text to a function of Python, whose own errors are told aside; none for None.
std::function<void(const std::string&)> ReportFromPython(std::optional<Told> report, Owned* owned);

}  // namespace easydata
