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
#include "easydata/source/quarantine.h"
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

/// Lets batches pass, and tells once, at the end of the first pass that has any, how many documents
/// were cut.
class CutNotice : public Stage {
 public:
  CutNotice(std::unique_ptr<Stage> upstream, std::shared_ptr<std::atomic<bool>> told,
            std::shared_ptr<nb::object> report)
      : upstream_(std::move(upstream)), told_(std::move(told)), report_(std::move(report)) {}

  Result<std::optional<Batch>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (batch.has_value()) {
      for (const DropCount& count : batch->dropped) {
        if (count.reason == kTruncatedReason) cut_[count.source] += count.rows;
      }
      return batch;
    }
    if (!cut_.empty() && !told_->exchange(true)) {
      EngineGil gil;
      if (!gil.held()) return EngineGil::Ending();
      try {
        for (const auto& [source, documents] : cut_) (*report_)(source, documents);
      } catch (nb::python_error& error) {
        return PythonError(error);
      }
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
  std::unique_ptr<Stage> upstream_;
  std::shared_ptr<std::atomic<bool>> told_;
  std::shared_ptr<nb::object> report_;
  std::map<std::string, int64_t> cut_;
};

/// Puts rows without a text into quarantine, one batch after the other, before they are tokenized.
class QuarantineMissing : public Stage {
 public:
  QuarantineMissing(std::unique_ptr<Stage> upstream, std::string column, std::string path)
      : upstream_(std::move(upstream)), column_(std::move(column)), quarantine_(std::move(path)) {}

  Result<std::optional<Batch>> Next() override {
    ARROW_ASSIGN_OR_RAISE(auto batch, upstream_->Next());
    if (!batch.has_value()) return batch;
    const auto column = batch->rows->GetColumnByName(column_);
    if (column == nullptr || column->null_count() == 0) return batch;
    std::vector<int64_t> keep;
    for (int64_t row = 0; row < column->length(); ++row) {
      if (column->IsValid(row)) {
        keep.push_back(row);
        continue;
      }
      const Address address = batch->addresses.At(row);
      ARROW_RETURN_NOT_OK(quarantine_.Add(address.shard->source, address.shard->shard, address.row,
                                          "the row has no text in field '" + column_ + "'", ""));
    }
    ARROW_ASSIGN_OR_RAISE(*batch, KeepRows(*batch, keep, "missing"));
    return batch;
  }
  Cursor Save() const override { return upstream_->Save(); }
  Status Restore(const nlohmann::json& cursor) override { return upstream_->Restore(cursor); }
  void Cancel() override { upstream_->Cancel(); }
  std::shared_ptr<arrow::Schema> schema() const override { return upstream_->schema(); }
  StageStats stats() const override { return upstream_->stats(); }

 private:
  std::unique_ptr<Stage> upstream_;
  const std::string column_;
  Quarantine quarantine_;
};

/// A Python object that any thread may let go of.
std::shared_ptr<nb::object> SharedObject(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            if (!nb::is_alive()) {
              (void)held->release();
              delete held;
              return;
            }
            nb::gil_scoped_acquire gil;
            delete held;
          }};
}

Stream TokenizeStream(const Stream& stream, std::shared_ptr<TextEncoder> encoder,
                      const std::string& column, bool add_special_tokens, int64_t max_length,
                      bool attention_mask, int64_t pad_to, int32_t pad_id, bool pad_left,
                      std::vector<std::string> keep, const std::string& on_error,
                      const std::string& quarantine_path, int64_t rows_per_call, int max_threads,
                      nb::object report) {
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
  StreamPlan source = stream.plan;
  if (on_error == "quarantine") {
    source.make = [make = std::move(source.make), column,
                   quarantine_path](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
      ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
      return std::make_unique<QuarantineMissing>(std::move(stage), column, quarantine_path);
    };
  }
  StreamPlan plan = MapPlan(std::move(source), std::move(op), description);
  if (!report.is_none()) {
    plan.make = [make = std::move(plan.make), told = std::make_shared<std::atomic<bool>>(false),
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
    nb::gil_scoped_release release;
    return MakePass(stream.plan, 1, 0);
  }();
  Check(pass.status());
  std::vector<std::string> names = pass->stage->schema()->field_names();
  {
    nb::gil_scoped_release release;
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
         const std::string& name, const std::string& what) {
        return Append(
            stream, CallableOp(std::move(callable), KindOf(kind), ColumnsFromPython(columns), name),
            what);
      },
      nb::arg("stream"), nb::arg("callable"), nb::arg("kind"), nb::arg("columns").none(),
      nb::arg("name"), nb::arg("what"),
      "The stream with a Python callable behind it, called for each row (kind filter, map or "
      "expand).");
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
        nb::arg("keep"), nb::arg("on_error"), nb::arg("quarantine_path"), nb::arg("rows_per_call"),
        nb::arg("max_threads"), nb::arg("report").none(),
        "The stream with its text column tokenized. `report(source, documents)` is told once how "
        "many were cut.");
}

}  // namespace easydata
