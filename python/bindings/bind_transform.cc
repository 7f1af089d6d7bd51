#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "bind_options.h"
#include "bindings.h"
#include "bound_stream.h"
#include "cut_report.h"
#include "easydata/plan/tokenize_plan.h"
#include "easydata/transform/column_op.h"
#include "operators/call_borrowed.h"
#include "operators/engine_gil.h"

namespace easydata {
namespace {

Stream TokenizeStream(const Stream& stream, nb::handle_t<tokenizers::TextEncoder> encoder,
                      nb::object report, const nb::kwargs& given) {
  const auto options = OptionsFromPython<transform::TokenizeOptions>(given);
  Owned owned = stream.owned;
  auto tell = TellFromPython(std::move(report), &owned);
  return {
      Unwrap(plan::TokenizePlan(stream.plan, SharedArgument(encoder), options, std::move(tell))),
      std::move(owned)};
}

}  // namespace

plan::CutCallback TellFromPython(nb::object report, Owned* owned) {
  if (report.is_none()) return nullptr;
  return [report = owned->Lend(std::move(report))](const plan::CutReport& cuts) -> Status {
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
  static const std::string tokenize_signature =
      SignatureOf("tokenize", config::ConfigTypeOf<transform::TokenizeOptions>(),
                  "stream: Stream, encoder: TextEncoder, report: "
                  "collections.abc.Callable[[str, str, int, int], object] | None",
                  "Stream");
  m.def("tokenize", TokenizeStream, nb::arg("stream"), nb::arg("encoder"), nb::arg("report").none(),
        nb::arg("options"), nb::sig(tokenize_signature.c_str()),
        "The stream with its text column tokenized. `report(which, source, documents, tokens)` is "
        "told once when the first are cut, and once how many were in all.");
}

}  // namespace easydata
