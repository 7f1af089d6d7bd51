#include "operators/callable_op.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/plan/refused_rows.h"
#include "easydata/source/json_rows.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/piecewise_op.h"
#include "easydata/stream/row_error.h"
#include "operators/engine_gil.h"
#include "operators/limited_api.h"
#include "operators/refused_rows.h"
#include "operators/rows.h"

namespace easydata {
namespace {

/// Pieces that are worked on together take about this long: a thread that waits for the GIL gets it
/// after as long (sys.getswitchinterval), so that taking it costs little beside them.
constexpr double kSecondsAtOnce = 0.005;

class CallableOpImpl : public PiecewiseOp {
 public:
  CallableOpImpl(std::vector<CalledStep> steps, CallableKind kind, Columns output, std::string name)
      : steps_(std::move(steps)),
        kind_(kind),
        output_(std::move(output)),
        name_(std::move(name)),
        refuses_(kind == CallableKind::kMap && steps_.back().refuses) {}

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    if (kind_ == CallableKind::kFilter) return input;
    const auto schema = source::JsonRowSchema(output_);
    if (refuses_) return schema->AddField(schema->num_fields(), plan::RefusedField());
    return schema;
  }

  const char* name() const override { return "callable"; }

  // Parts of parts are numbered on.
  bool joins_parts() const override { return kind_ == CallableKind::kExpand; }

  int64_t pieces_at_once() const override {
    const double seconds = seconds_per_piece_;
    if (seconds <= 0) return 1;  // not known yet
    return std::clamp<int64_t>(static_cast<int64_t>(kSecondsAtOnce / seconds), 1, 1 << 20);
  }

  Result<Batch> Apply(Batch batch) const override {
    return std::move(ApplyEach({std::move(batch)}).front());
  }

  std::vector<Result<Batch>> ApplyEach(std::vector<Batch> pieces) const override {
    std::vector<Result<Batch>> out;
    EngineGil gil;
    if (!gil.held()) return out.push_back(EngineGil::Ending()), out;
    std::vector<nb::object> callables;
    for (const CalledStep& step : steps_) {
      callables.push_back(step.callable.Get());
      if (!callables.back().is_valid()) return out.push_back(Borrowed::Gone()), out;
    }
    // Without the wait for the GIL, which says nothing of the callables.
    const auto begin = std::chrono::steady_clock::now();
    Conversion conversion(output_);
    for (const Batch& piece : pieces) {
      out.push_back(exec::CatchExceptions([&]() -> Result<Batch> {
        try {
          return kind_ == CallableKind::kFilter ? Filter(callables, piece, &conversion)
                                                : Map(callables, piece, &conversion);
        } catch (nb::python_error& error) {
          return ErrorOf(error);
        }
      }));
      if (!out.back().ok()) break;
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    seconds_per_piece_ = taken.count() / static_cast<double>(out.size());
    return out;
  }

 private:
  /// Between columns and rows, both ways: what pieces share.
  struct Conversion {
    explicit Conversion(const Columns& output) : to_columns(output) {}

    RowConverter to_rows;
    RowColumns to_columns;
  };

  static nb::object RowOf(int64_t i, RowConverter* rows) {
    nb::object row = nb::steal(rows->Row(i));
    if (!row.is_valid()) throw nb::python_error();
    return row;
  }

  static nb::object CallOne(const nb::object& callable, const nb::object& row) {
    nb::object result =
        nb::steal(CallPython([&] { return PyObject_CallOneArg(callable.ptr(), row.ptr()); }));
    if (!result.is_valid()) throw nb::python_error();
    return result;
  }

  /// An exception of one of the callables.
  Status ErrorOf(nb::python_error& error) const { return steps_.front().callable.Error(error); }

  Result<Batch> Filter(const std::vector<nb::object>& callables, const Batch& batch,
                       Conversion* conversion) const {
    conversion->to_rows.Start(*batch.rows, 0, batch.num_rows());
    std::vector<int64_t> keep;
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      if (Stopped()) return Closed();
      try {
        const nb::object answer = CallOne(callables[0], RowOf(i, &conversion->to_rows));
        const int truth = CallPython([&] { return PyObject_IsTrue(answer.ptr()); });
        if (truth < 0) throw nb::python_error();
        if (truth == 1) keep.push_back(i);
      } catch (nb::python_error& error) {
        return RowErrorOf(batch.addresses.At(i), ErrorOf(error));
      }
    }
    conversion->to_rows.Finish();
    return KeepRows(batch, keep, name_);
  }

  /// What the steps from `step` on make of a row: as a callable of the op's kind returns it.
  nb::object RunSteps(const std::vector<nb::object>& callables, size_t step, nb::object row) const {
    for (; step < steps_.size(); ++step) {
      row = CallOne(callables[step], std::move(row));
      if (row.is_none()) break;
      if (steps_[step].refuses && PyExceptionInstance_Check(row.ptr())) break;
      if (!steps_[step].expands) continue;
      if (step + 1 == steps_.size()) return row;
      nb::list made;
      for (nb::handle each : nb::iter(row)) {
        if (Stopped()) break;  // and so does who asked
        made.extend(RunSteps(callables, step + 1, nb::borrow(each)));
      }
      return made;
    }
    if (kind_ != CallableKind::kExpand) return row;
    nb::list made;
    if (!row.is_none()) made.append(row);
    return made;
  }

  Result<Batch> Map(const std::vector<nb::object>& callables, const Batch& batch,
                    Conversion* conversion) const {
    conversion->to_rows.Start(*batch.rows, 0, batch.num_rows());
    Batch out;
    std::vector<int64_t> keep;
    std::vector<int64_t> lost;
    arrow::StringBuilder refused;
    Address last;
    int32_t sub_row = 0;
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      if (Stopped()) return Closed();
      try {
        const nb::object result = RunSteps(callables, 0, RowOf(i, &conversion->to_rows));
        if (kind_ == CallableKind::kExpand) {
          Address address = batch.addresses.At(i);
          // Parts of parts are numbered on, so that addresses stay distinct.
          if (address.shard != last.shard || address.row != last.row) sub_row = 0;
          last = address;
          const int64_t before = conversion->to_columns.num_rows();
          for (nb::handle row : nb::iter(result)) {
            if (Stopped()) return Closed();
            ARROW_RETURN_NOT_OK(CheckRow(row, address));
            const Address part{address.shard, address.row, sub_row++};
            const Status kept = conversion->to_columns.Append(row);
            if (!kept.ok()) return CannotBeKept(kept, part);
            out.addresses.Append(part);
          }
          if (conversion->to_columns.num_rows() == before) lost.push_back(i);
        } else if (result.is_none()) {
          lost.push_back(i);
        } else if (refuses_ && PyExceptionInstance_Check(result.ptr())) {
          ARROW_ASSIGN_OR_RAISE(
              const std::string mark,
              plan::Refusal(batch, i, Reason(result), ErrorText(result), PythonRowText));
          ARROW_RETURN_NOT_OK(refused.Append(mark));
          // An empty row stands in its place.
          ARROW_RETURN_NOT_OK(conversion->to_columns.Append(nb::dict()));
          keep.push_back(i);
        } else {
          if (!PyDict_Check(result.ptr())) return CheckRow(result, batch.addresses.At(i));
          if (refuses_) ARROW_RETURN_NOT_OK(refused.AppendNull());
          const Status kept = conversion->to_columns.Append(result);
          if (!kept.ok()) return CannotBeKept(kept, batch.addresses.At(i));
          keep.push_back(i);
        }
      } catch (nb::python_error& error) {
        return RowErrorOf(batch.addresses.At(i), ErrorOf(error));
      }
    }
    conversion->to_rows.Finish();
    ARROW_ASSIGN_OR_RAISE(out.rows, conversion->to_columns.Finish());
    if (kind_ != CallableKind::kExpand) {
      out.addresses = lost.empty() ? batch.addresses : batch.addresses.Take(keep);
    }
    if (refuses_) {
      ARROW_ASSIGN_OR_RAISE(auto marks, refused.Finish());
      ARROW_ASSIGN_OR_RAISE(out.rows, out.rows->AddColumn(out.rows->num_columns(),
                                                          plan::RefusedField(), std::move(marks)));
    }
    out.dropped = batch.dropped;
    CountDropped(&out, batch, lost, name_);
    return out;
  }

  Status CannotBeKept(const Status& status, const Address& address) const {
    return RowError(address,
                    name_ + " returned what cannot be kept: " + status.message() +
                        "; return text, numbers, lists and dicts, or select the fields that are "
                        "needed before",
                    status.code());
  }

  static bool Stopped() { return exec::StopScope::Stopped() || EngineGil::ending(); }
  static Status Closed() { return Status::Cancelled("the stream was closed"); }

  /// What rows that an exception refuses are counted under.
  static std::string Reason(nb::handle error) {
    return nb::cast<std::string>(nb::str(nb::getattr(error, "reason", nb::str("refused"))));
  }

  /// What an exception says; the class goes before what means little without it.
  static std::string ErrorText(nb::handle error) {
    const auto text = nb::cast<std::string>(nb::str(error));
    if (PyErr_GivenExceptionMatches(error.ptr(), PyExc_ValueError) ||
        PyErr_GivenExceptionMatches(error.ptr(), PyExc_TypeError)) {
      return text;
    }
    return ClassNameOf(error) + ": " + text;
  }

  Status CheckRow(nb::handle row, const Address& address) const {
    if (PyDict_Check(row.ptr())) return Status::OK();
    return RowError(address,
                    name_ + " returned " + ClassNameOf(row) +
                        (kind_ == CallableKind::kExpand ? " as a row, expected a dict"
                                                        : ", expected a dict, or None to drop it"),
                    arrow::StatusCode::TypeError);
  }

  const std::vector<CalledStep> steps_;
  const CallableKind kind_;
  const Columns output_;
  const std::string name_;
  const bool refuses_;
  /// As it was last.
  mutable std::atomic<double> seconds_per_piece_{0};
};

}  // namespace

std::shared_ptr<const BatchOp> CallableOp(std::vector<CalledStep> steps, CallableKind kind,
                                          Columns output, std::string name) {
  return std::make_shared<CallableOpImpl>(std::move(steps), kind, std::move(output),
                                          std::move(name));
}

}  // namespace easydata
