#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "bindings.h"
#include "callable_op.h"
#include "easydata/stream/json_column.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/lane_rows_stage.h"
#include "easydata/stream/map_stage.h"
#include "easydata/tokenizer/tokenize_op.h"
#include "easydata/transform/add_constant.h"
#include "easydata/transform/conform_columns.h"
#include "easydata/transform/filter_non_empty.h"
#include "easydata/transform/limit_stage.h"
#include "easydata/transform/project_columns.h"
#include "engine_gil.h"
#include "refused_rows.h"
#include "rows.h"

namespace easydata {
namespace {

/// A column operation as Python holds it.
struct ColumnOp {
  std::shared_ptr<const BatchOp> op;
};

/// `stream` with `op` behind it; what it does is added to the list under "transforms".
Stream Append(const Stream& stream, std::shared_ptr<const BatchOp> op, const std::string& what) {
  nlohmann::json steps = stream.plan.description->value("transforms", nlohmann::json::array());
  steps.push_back(what);
  return {MapPlan(stream.plan, std::move(op), {{"transforms", std::move(steps)}})};
}

/// What of a plan's cuts was told already.
struct ToldCuts {
  std::atomic<bool> first = false;
  std::atomic<bool> all = false;
};

/// Lets batches pass, and tells once that documents are cut, at the first of them, and once, at the
/// end of the first pass, how many were.
class CutNotice : public Stage {
 public:
  CutNotice(std::unique_ptr<Stage> upstream, std::shared_ptr<ToldCuts> told,
            std::shared_ptr<nb::object> report)
      : upstream_(std::move(upstream)), told_(std::move(told)), report_(std::move(report)) {}

  Result<std::optional<Batch>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (batch.has_value()) {
      bool any = false;
      for (const DropCount& count : batch->dropped) {
        if (count.reason != kTruncatedReason) continue;
        cut_[count.source].texts += count.rows;
        cut_[count.source].ids += count.tokens;
        any = true;
      }
      if (any && !told_->first.exchange(true)) ARROW_RETURN_NOT_OK(Tell("first"));
    } else if (!cut_.empty() && !told_->all.exchange(true)) {
      ARROW_RETURN_NOT_OK(Tell("all"));
    }
    return batch;
  }
  Cursor Save() const override { return upstream_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return upstream_->Restore(cursor); }
  Result<std::optional<int64_t>> NumRows() override { return upstream_->NumRows(); }
  Result<bool> Seek(int64_t row) override { return upstream_->Seek(row); }
  void Cancel() override { upstream_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }
  StageStats stats() const override { return upstream_->stats(); }
  Result<bool> Fuse(std::shared_ptr<const BatchOp> op) override {
    return upstream_->Fuse(std::move(op));
  }

 private:
  Status Tell(const char* which) {
    EngineGil gil;
    if (!gil.held()) return EngineGil::Ending();
    try {
      for (const auto& [source, cut] : cut_) (*report_)(which, source, cut.texts, cut.ids);
    } catch (nb::python_error& error) {
      return PythonError(error);
    }
    return Status::OK();
  }

  std::unique_ptr<Stage> upstream_;
  std::shared_ptr<ToldCuts> told_;
  std::shared_ptr<nb::object> report_;
  std::map<std::string, CutTexts> cut_;
};

/// A Python object that any thread may let go of.
std::shared_ptr<nb::object> SharedObject(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            DropReference(held);
            delete held;
          }};
}

Stream TokenizeStream(const Stream& stream, std::shared_ptr<TextEncoder> encoder,
                      const std::string& column, bool add_special_tokens, int64_t max_length,
                      bool attention_mask, int64_t pad_to, int32_t pad_id, bool pad_left,
                      std::vector<std::string> keep, const std::string& on_error,
                      int64_t rows_per_call, int max_threads, nb::object report) {
  nlohmann::json description = {{"tokenizer", encoder->fingerprint()},
                                {"tokenize.content_field", column},
                                {"tokenize.add_special_tokens", add_special_tokens},
                                {"tokenize.max_length", max_length},
                                {"tokenize.pad_to", pad_to},
                                {"tokenize.additional_fields", keep},
                                {"tokenize.on_error", on_error}};
  TokenizeOptions options;
  options.column = column;
  options.encode = {add_special_tokens, max_length};
  options.attention_mask = attention_mask;
  options.pad_to = pad_to;
  options.pad_id = pad_id;
  options.pad_left = pad_left;
  options.keep = std::move(keep);
  options.skip_missing = on_error == "skip";
  options.rows_per_call = rows_per_call;
  options.max_threads = max_threads;
  auto op = Unwrap(TokenizeOp(std::move(encoder), std::move(options)));
  StreamPlan plan = MapPlan(stream.plan, std::move(op), description);
  if (!report.is_none()) {
    plan.make = [make = std::move(plan.make), told = std::make_shared<ToldCuts>(),
                 report = SharedObject(std::move(report))](
                    const StageContext& context) -> Result<std::unique_ptr<Stage>> {
      ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
      return std::make_unique<CutNotice>(std::move(stage), told, report);
    };
  }
  return {std::move(plan)};
}

Stream LimitStream(const Stream& stream, int64_t max_rows) {
  StreamPlan plan;
  auto description = std::make_shared<nlohmann::json>(*stream.plan.description);
  nlohmann::json steps = description->value("transforms", nlohmann::json::array());
  steps.push_back("limit " + std::to_string(max_rows));
  (*description)["transforms"] = std::move(steps);
  plan.description = std::move(description);
  plan.make = [make = stream.plan.make,
               max_rows](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    // The first rows are those of the whole stream, whatever lane is made.
    StageContext whole = context;
    whole.lane = 0;
    whole.lanes = 1;
    ARROW_ASSIGN_OR_RAISE(auto stage, make(whole));
    ARROW_ASSIGN_OR_RAISE(stage, MakeLimitStage(std::move(stage), max_rows));
    return DealRows(std::move(stage), context);
  };
  return {std::move(plan)};
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
    if (name == kRowColumn) return std::nullopt;
  }
  return names;
}

CallableKind KindOf(const std::string& name) {
  if (name == "filter") return CallableKind::kFilter;
  if (name == "map") return CallableKind::kMap;
  if (name == "expand") return CallableKind::kExpand;
  throw nb::value_error(("there is no kind of callable '" + name + "'").c_str());
}

}  // namespace

void BindTransform(nb::module_& m) {
  EngineGil::WatchExit();
  nb::class_<ColumnOp>(m, "ColumnOp", "Work on whole columns of a stream.")
      .def_static(
          "select",
          [](std::vector<std::string> n) { return ColumnOp{SelectColumns(std::move(n))}; },
          nb::arg("names"))
      .def_static(
          "drop", [](std::vector<std::string> n) { return ColumnOp{DropColumns(std::move(n))}; },
          nb::arg("names"))
      .def_static(
          "rename",
          [](std::vector<std::pair<std::string, std::string>> names, bool renamed_wins) {
            return ColumnOp{RenameColumns(
                std::move(names), renamed_wins ? NameClash::kRenamedWins : NameClash::kLaterWins)};
          },
          nb::arg("names"), nb::arg("renamed_wins") = false)
      .def_static(
          "filter_non_empty",
          [](std::vector<std::string> n) { return ColumnOp{FilterNonEmpty(std::move(n))}; },
          nb::arg("names"))
      .def_static(
          "add_constant",
          [](std::string name, const std::string& json) {
            return ColumnOp{AddConstant(std::move(name), nlohmann::json::parse(json))};
          },
          nb::arg("name"), nb::arg("json"));
  m.def(
      "apply_column_op",
      [](const Stream& stream, const ColumnOp& op, const std::string& what) {
        return Append(stream, op.op, what);
      },
      nb::arg("stream"), nb::arg("op"), nb::arg("what"),
      "The stream with a column operation behind it; `what` describes it in the plan.");
  m.def(
      "apply_callable",
      [](const Stream& stream, nb::object callable, const std::string& kind, nb::object columns,
         const std::string& name, const std::string& what, bool refuses) {
        return Append(stream,
                      CallableOp(std::move(callable), KindOf(kind), ColumnsFromPython(columns),
                                 name, refuses),
                      what);
      },
      nb::arg("stream"), nb::arg("callable"), nb::arg("kind"), nb::arg("columns").none(),
      nb::arg("name"), nb::arg("what"), nb::arg("refuses") = false,
      "The stream with a Python callable behind it, called for each row (kind filter, map or "
      "expand). Where a map `refuses`, exceptions that it returns refuse rows: see "
      "take_refused_out.");
  m.def(
      "read_or_refuse",
      [](const Stream& stream, nb::object columns, std::string column) {
        Columns wanted = ColumnsFromPython(columns);
        if (!wanted.has_value()) throw nb::value_error("columns must be named");
        return Stream{MapPlan(stream.plan, ReadOrRefuse(*std::move(wanted), std::move(column)),
                              nlohmann::json::object())};
      },
      nb::arg("stream"), nb::arg("columns"), nb::arg("column"),
      "These columns of a stream of whole rows; rows that do not have them, or no text in "
      "`column`, "
      "are refused: see take_refused_out.");
  m.def(
      "take_refused_out",
      [](const Stream& stream, std::string quarantine_path, nb::object report) {
        const auto shared = SharedObject(std::move(report));
        auto tell = [shared](const std::string& text) {
          EngineGil gil;
          if (!gil.held()) return;
          try {
            (*shared)(text);
          } catch (nb::python_error& error) {
            error.discard_as_unraisable("reporting a row that was left out");
          }
        };
        return Stream{TakeRefusedOut(stream.plan, std::move(quarantine_path), std::move(tell))};
      },
      nb::arg("stream"), nb::arg("quarantine_path"), nb::arg("report"),
      "The stream without the rows that were refused: counted, reported, and put into the file "
      "`quarantine_path` unless it is empty.");
  m.def(
      "conform",
      [](const Stream& stream, nb::object columns, std::vector<std::string> known) {
        const Columns wanted = ColumnsFromPython(columns);
        if (!wanted.has_value()) return stream;
        return Stream{MapPlan(stream.plan, ConformColumns(*wanted, std::move(known)),
                              nlohmann::json::object())};
      },
      nb::arg("stream"), nb::arg("columns").none(), nb::arg("known") = std::vector<std::string>(),
      "The stream with exactly these columns, in their kinds.");
  m.def("limit", LimitStream, nb::arg("stream"), nb::arg("max_rows"));
  m.def("column_names", ColumnNames, nb::arg("stream"),
        "Names of the stream's columns; None where rows have no schema.");
  m.def("tokenize", TokenizeStream, nb::arg("stream"), nb::arg("encoder"), nb::kw_only(),
        nb::arg("column"), nb::arg("add_special_tokens"), nb::arg("max_length"),
        nb::arg("attention_mask"), nb::arg("pad_to"), nb::arg("pad_id"), nb::arg("pad_left"),
        nb::arg("keep"), nb::arg("on_error"), nb::arg("rows_per_call"), nb::arg("max_threads"),
        nb::arg("report").none(),
        "The stream with its text column tokenized. `report(which, source, documents, tokens)` is "
        "told once when the first are cut, and once how many were in all.");
}

}  // namespace easydata
