#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "bind_options.h"
#include "bindings.h"
#include "bound_stream.h"
#include "cut_report.h"
#include "easydata/pipeline/tokenize_plan.h"
#include "easydata/source/source_stage.h"
#include "easydata/transform/column_op.h"
#include "engine_gil.h"

namespace easydata {
namespace {

Stream TokenizeStream(const Stream& stream, nb::handle_t<tokenizers::TextEncoder> encoder,
                      const std::string& column, bool add_special_tokens, int64_t max_length,
                      bool attention_mask, int64_t pad_to, int32_t pad_id, bool pad_left,
                      std::vector<std::string> keep, const std::string& on_error,
                      int64_t rows_per_call, int max_threads, nb::object report) {
  transform::TokenizeOptions options;
  options.column = column;
  options.encode = {add_special_tokens, max_length};
  options.attention_mask = attention_mask;
  options.pad_to = pad_to;
  options.pad_id = pad_id;
  options.pad_left = pad_left;
  options.keep = std::move(keep);
  options.skip_missing = ChoiceOf<source::OnError>("on_error", on_error) == source::OnError::kSkip;
  options.rows_per_call = rows_per_call;
  options.max_threads = max_threads;
  Owned owned = stream.owned;
  auto tell = TellFromPython(std::move(report), &owned);
  return {Unwrap(pipeline::TokenizePlan(stream.plan, SharedArgument(encoder), options,
                                        std::move(tell))),
          std::move(owned)};
}

}  // namespace

pipeline::CutCallback TellFromPython(nb::object report, Owned* owned) {
  if (report.is_none()) return nullptr;
  return [report = owned->Lend(std::move(report))](const pipeline::CutReport& cuts) -> Status {
    EngineGil gil;
    if (!gil.held()) return EngineGil::Ending();
    const nb::object tell = report.Get();
    if (!tell.is_valid()) return Borrowed::Gone();
    try {
      for (const auto& [source, cut] : cuts.by_source) {
        tell(cuts.is_first ? "first" : "all", source, cut.documents, cut.tokens);
      }
    } catch (nb::python_error& error) {
      return report.Error(error);
    }
    return Status::OK();
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
  m.def("tokenize", TokenizeStream, nb::arg("stream"), nb::arg("encoder"), nb::kw_only(),
        nb::arg("column"), nb::arg("add_special_tokens"), nb::arg("max_length"),
        nb::arg("attention_mask"), nb::arg("pad_to"), nb::arg("pad_id"), nb::arg("pad_left"),
        nb::arg("keep"), nb::arg("on_error"), nb::arg("rows_per_call"), nb::arg("max_threads"),
        nb::arg("report").none(),
        "The stream with its text column tokenized. `report(which, source, documents, tokens)` is "
        "told once when the first are cut, and once how many were in all.");
}

}  // namespace easydata
