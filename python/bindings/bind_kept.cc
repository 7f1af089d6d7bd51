#include <nanobind/stl/string.h>

#include "bindings.h"
#include "bound_plan.h"
#include "bound_token_store.h"
#include "easydata/base/hash.h"
#include "easydata/plan/cached.h"

namespace easydata {
namespace {

plan::Documents DocumentsOf(bool whole) {
  return whole ? plan::Documents::kWhole : plan::Documents::kAsTheyAre;
}

nb::typed<nb::dict, nb::str, nb::object> KeptInStore(const BoundPlan& plan,
                                                     const BoundTokenStore& store,
                                                     bool whole_documents) {
  const auto [kept, rows] =
      Unwrap(plan::LookForKept(*plan.plan, DocumentsOf(whole_documents), store.store));
  nb::list missing;
  for (const KeptRows::Missing& each : rows.missing) {
    nb::dict file;
    file["name"] = each.file;
    file["blocks"] = each.blocks;
    file["kept_blocks"] = each.kept_blocks;
    missing.append(file);
  }
  nb::dict out;
  out["plan"] = ToHex(kept.hash[0]) + ToHex(kept.hash[1]);
  out["described"] = kept.described;
  out["blocks"] = rows.blocks;
  out["kept_blocks"] = rows.kept_blocks;
  out["bytes"] = rows.bytes;
  out["kept_bytes"] = rows.kept_bytes;
  out["files"] = missing;
  return out;
}

}  // namespace

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
  m.def("look_for_kept", &KeptInStore, nb::arg("input"), nb::arg("store"), nb::kw_only(),
        nb::arg("whole_documents"),
        "Counts the blocks of a plan's files, and those that a store has; names files of which not "
        "all is there. `whole_documents`: as a packer asks for them, which splits them itself.");
}

}  // namespace easydata
