#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bind_options.h"
#include "bindings.h"
#include "bound_stream.h"
#include "bound_type.h"
#include "callable_op.h"
#include "cut_report.h"
#include "easydata/json/json_column.h"
#include "easydata/pipeline/limit_plan.h"
#include "easydata/pipeline/tokenize_plan.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/map_stage.h"
#include "easydata/transform/column_op.h"
#include "easydata/transform/conform_columns.h"
#include "engine_gil.h"
#include "refused_rows.h"
#include "rows.h"

namespace easydata {
namespace {

Stream TokenizeStream(const Stream& stream, nb::handle_t<tokenizers::TextEncoder> encoder,
                      nb::object report, const nb::kwargs& given) {
  const auto options = OptionsFromPython<transform::TokenizeOptions>(given);
  Owned owned = stream.owned;
  auto tell = TellFromPython(std::move(report), &owned);
  return {Unwrap(pipeline::TokenizePlan(stream.plan, SharedArgument(encoder), options,
                                        std::move(tell))),
          std::move(owned)};
}

/// Names of the columns that a stream gives, or nothing where rows have no schema.
std::optional<std::vector<std::string>> ColumnNames(const Stream& stream) {
  Result<Pass> pass = [&] {
    WithoutGil released(nb::find(stream));
    return MakePass(stream.plan, 1, 0);
  }();
  Check(pass.status());
  std::vector<std::string> names = pass->stage->schema()->field_names();
  {
    WithoutGil released;
    pass->stage.reset();
  }
  for (const std::string& name : names) {
    if (name == json::kRowColumn) return std::nullopt;
  }
  return names;
}

CallableKind KindOf(const std::string& name) {
  if (name == "filter") return CallableKind::kFilter;
  if (name == "map") return CallableKind::kMap;
  if (name == "expand") return CallableKind::kExpand;
  throw nb::value_error(("there is no kind of callable '" + name + "'").c_str());
}

struct ColumnOp {
  std::string name;
  nlohmann::json options;
};

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
  BindPlain<ColumnOp>(m, "ColumnOp", "Work on whole columns of a stream.")
      .def(
          "__init__",
          [](ColumnOp* self, std::string name, const std::string& options) {
            new (self) ColumnOp{std::move(name), nlohmann::json::parse(options)};
          },
          nb::arg("name"), nb::arg("options"),
          "An operation of the engine's list (transform/column_op.h); `options` are JSON.");
  m.def(
      "apply_column_op",
      [](const Stream& stream, const ColumnOp& op) {
        return Stream{Unwrap(transform::ColumnOpPlan(stream.plan, op.name, op.options)),
                      stream.owned};
      },
      nb::arg("stream"), nb::arg("op"), "The stream with a column operation downstream of it.");
  m.def(
      "apply_callable",
      [](const Stream& stream, nb::object callable, const std::string& kind, nb::object columns,
         const std::string& name, const std::string& what, bool refuses, bool has_identity) {
        Owned owned = stream.owned;
        auto op = CallableOp(owned.Lend(std::move(callable)), KindOf(kind),
                             ColumnsFromPython(columns), name, refuses);
        auto node = MakeNode(kind, {{"callable", what}}, stream.plan);
        node->has_identity = has_identity;
        node->keeps_row_count = op->keeps_rows();
        return Stream{MapPlan(stream.plan, std::move(op), std::move(node)), std::move(owned)};
      },
      nb::arg("stream"), nb::arg("callable"), nb::arg("kind"), nb::arg("columns").none(),
      nb::arg("name"), nb::arg("what"), nb::arg("refuses") = false, nb::arg("has_identity") = true,
      "The stream with a Python callable downstream of it, called for each row (kind filter, map "
      "or expand). `what` describes it in the plan; without identity it can be recognised in this "
      "process alone. Where a map `refuses`, exceptions that it returns refuse rows: see "
      "take_refused_out.");
  m.def(
      "read_or_refuse",
      [](const Stream& stream, nb::object columns, std::string column) {
        Columns wanted = ColumnsFromPython(columns);
        if (!wanted.has_value()) throw nb::value_error("columns must be named");
        return Stream{MapPlan(stream.plan, ReadOrRefuse(*std::move(wanted), std::move(column))),
                      stream.owned};
      },
      nb::arg("stream"), nb::arg("columns"), nb::arg("column"),
      "These columns of a stream of whole rows; rows that do not have them, or no text in "
      "`column`, "
      "are refused: see take_refused_out.");
  m.def(
      "take_refused_out",
      [](const Stream& stream, std::string quarantine_path, nb::object report) {
        Owned owned = stream.owned;
        auto tell = [borrowed = owned.Lend(std::move(report))](const std::string& text) {
          EngineGil gil;
          if (!gil.held()) return;
          const nb::object report = borrowed.Get();
          if (!report.is_valid()) return;
          try {
            report(text);
          } catch (nb::python_error& error) {
            error.discard_as_unraisable("reporting a row that was left out");
          }
        };
        return Stream{TakeRefusedOut(stream.plan, std::move(quarantine_path), std::move(tell)),
                      std::move(owned)};
      },
      nb::arg("stream"), nb::arg("quarantine_path"), nb::arg("report"),
      "The stream without the rows that were refused: counted, reported, and put into the file "
      "`quarantine_path` unless it is empty.");
  m.def(
      "conform",
      [](const Stream& stream, nb::object columns, std::vector<std::string> known) {
        const Columns wanted = ColumnsFromPython(columns);
        if (!wanted.has_value()) return stream;
        return Stream{MapPlan(stream.plan, transform::ConformColumns(*wanted, std::move(known))),
                      stream.owned};
      },
      nb::arg("stream"), nb::arg("columns").none(), nb::arg("known") = std::vector<std::string>(),
      "The stream with exactly these columns, in their kinds.");
  m.def(
      "limit",
      [](const Stream& stream, int64_t max_rows) {
        return Stream{Unwrap(pipeline::LimitPlan(stream.plan, max_rows)), stream.owned};
      },
      nb::arg("stream"), nb::arg("max_rows"));
  m.def("column_names", ColumnNames, nb::arg("stream"),
        "Names of the stream's columns; None where rows have no schema.");
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
