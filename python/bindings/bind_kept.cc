#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>

#include "bindings.h"
#include "bound_plan.h"
#include "bound_token_store.h"
#include "easydata/plan/cached.h"

namespace easydata {

void BindKept(nb::module_& m) {
  m.def(
      "cached",
      [](const BoundPlan& input, const BoundTokenStore& store) {
        return BoundPlan(plan::Cached(input.plan, store.store), input.owned);
      },
      nb::arg("input"), nb::arg("store"),
      "The rows of a plan; what it makes of each block of its files is kept in a store, and taken "
      "from there.");
  m.def(
      "why_nothing_is_kept",
      [](const BoundPlan& input) { return Unwrap(plan::WhyNothingIsKept(*input.plan)); },
      nb::arg("input"),
      "Why nothing of a plan's rows can be kept, and what to do about it; \"\" where it can.");
  m.def(
      "look_for_kept",
      [](const BoundPlan& plan, const BoundTokenStore& store, bool whole_documents) {
        const auto documents =
            whole_documents ? plan::Documents::kWhole : plan::Documents::kAsTheyAre;
        return DictOf(Unwrap(plan::LookForKept(*plan.plan, documents, store.store)).ToJson());
      },
      nb::arg("input"), nb::arg("store"), nb::kw_only(), nb::arg("whole_documents"),
      "Counts the blocks of a plan's files, and those that a store has; names files of which not "
      "all is there. `whole_documents`: as a packer asks for them, which splits them itself.");
}

}  // namespace easydata
