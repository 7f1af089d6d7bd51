#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "bindings.h"
#include "bound_stream.h"
#include "cut_report.h"
#include "easydata/plan/tokenize_plan.h"
#include "easydata/transform/column_op.h"
#include "operators/call_borrowed.h"
#include "operators/engine_gil.h"

namespace easydata {
namespace {

Stream TokenizeStream(const Stream& stream, nb::handle_t<tokenizers::TextCodec> encoder,
                      std::optional<ToldOfCuts> report, const transform::TokenizeOptions& options) {
  Owned owned = stream.owned;
  auto tell = TellFromPython(std::move(report), &owned);
  return {
      Unwrap(plan::TokenizePlan(stream.plan, SharedArgument(encoder), options, std::move(tell))),
      std::move(owned)};
}

}  // namespace

plan::CutCallback TellFromPython(std::optional<ToldOfCuts> report, Owned* owned) {
  if (!report.has_value()) return nullptr;
  return [report = owned->Lend(*std::move(report))](const plan::CutReport& cuts) -> Status {
    return RunBorrowed(report, [&](const nb::object& tell) {
      for (const auto& [source, cut] : cuts.by_source) {
        tell(cuts.is_first ? "first" : "all", source, cut.documents, cut.tokens);
      }
    });
  };
}

void BindTransform(nb::module_& m) {
  EngineGil::WatchExit();
  EngineGil::ListenToSignals();
  EngineGil::LogNotices();
  m.def(
      "apply_column_op",
      [](const Stream& stream, const std::string& op, const std::string& options) {
        return Stream{
            Unwrap(transform::ColumnOpPlan(stream.plan, op, nlohmann::json::parse(options))),
            stream.owned};
      },
      nb::arg("stream"), nb::arg("op"), nb::arg("options"),
      "The stream with an operation on columns downstream of it (transform/column_op.h); `options` "
      "are JSON.");
  m.def("tokenize", TokenizeStream, nb::arg("stream"), nb::arg("encoder"), nb::arg("report"),
        nb::arg("options"),
        "The stream with its text column tokenized. `report(which, source, documents, tokens)` is "
        "told once when the first are cut, and once how many were in all.");
}

}  // namespace easydata
