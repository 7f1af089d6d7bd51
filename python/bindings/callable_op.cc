#include "callable_op.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <utility>
#include <vector>

#include "easydata/exec/stop_scope.h"
#include "easydata/source/json_rows.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/row_error.h"
#include "engine_gil.h"
#include "refused_rows.h"
#include "rows.h"

namespace easydata {
namespace {

class CallableOpImpl : public BatchOp {
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
    if (refuses_) return schema->AddField(schema->num_fields(), RefusedField());
    return schema;
  }

  const char* name() const override { return "callable"; }

  Result<Batch> Apply(Batch batch) const override {
    EngineGil gil;
    if (!gil.held()) return EngineGil::Ending();
    std::vector<nb::object> callables;
    for (const CalledStep& step : steps_) {
      callables.push_back(step.callable.Get());
      if (!callables.back().is_valid()) return Borrowed::Gone();
    }
    try {
      return kind_ == CallableKind::kFilter ? Filter(callables[0], batch) : Map(callables, batch);
    } catch (nb::python_error& error) {
      return steps_.front().callable.Error(error);
    }
  }

 private:
  Result<Batch> Filter(const nb::object& callable, const Batch& batch) const {
    const nb::list rows = RowsToPython(batch);
    std::vector<int64_t> keep;
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      if (Stopped()) return Closed();
      try {
        const nb::object answer = CallPython([&] { return callable(rows[i]); });
        const int truth = CallPython([&] { return PyObject_IsTrue(answer.ptr()); });
        if (truth < 0) throw nb::python_error();
        if (truth == 1) keep.push_back(i);
      } catch (nb::python_error& error) {
        return RowErrorOf(batch.addresses.At(i), steps_.front().callable.Error(error));
      }
    }
    return KeepRows(batch, keep, name_);
  }

  /// What the steps from `step` on make of a row: as a callable of the op's kind returns it.
  nb::object Call(const std::vector<nb::object>& callables, size_t step, nb::object row) const {
    for (; step < steps_.size(); ++step) {
      row = CallPython([&] { return callables[step](row); });
      if (row.is_none()) break;
      if (steps_[step].refuses && PyExceptionInstance_Check(row.ptr())) break;
      if (!steps_[step].expands) continue;
      if (step + 1 == steps_.size()) return row;
      nb::list made;
      for (nb::handle each : nb::iter(row)) {
        if (Stopped()) break;  // and so does who asked
        made.extend(Call(callables, step + 1, nb::borrow(each)));
      }
      return made;
    }
    if (kind_ != CallableKind::kExpand) return row;
    nb::list made;
    if (!row.is_none()) made.append(row);
    return made;
  }

  Result<Batch> Map(const std::vector<nb::object>& callables, const Batch& batch) const {
    const nb::list rows = RowsToPython(batch);
    nb::list made;
    Batch out;
    std::vector<int64_t> lost;
    arrow::StringBuilder refused;
    Address last;
    int32_t sub_row = 0;
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      if (Stopped()) return Closed();
      const Address address = batch.addresses.At(i);
      try {
        const nb::object result = Call(callables, 0, rows[i]);
        if (kind_ == CallableKind::kExpand) {
          // Parts of parts are numbered on, so that addresses stay distinct.
          if (address.shard != last.shard || address.row != last.row) sub_row = 0;
          last = address;
          const size_t before = made.size();
          for (nb::handle row : nb::iter(result)) {
            if (Stopped()) return Closed();
            ARROW_RETURN_NOT_OK(CheckRow(row, address));
            made.append(row);
            out.addresses.Append(address.shard, address.row, sub_row++, 1);
          }
          if (made.size() == before) lost.push_back(i);
        } else if (result.is_none()) {
          lost.push_back(i);
        } else if (refuses_ && PyExceptionInstance_Check(result.ptr())) {
          ARROW_RETURN_NOT_OK(refused.Append(Refusal(batch, i, Reason(result), ErrorText(result))));
          made.append(nb::dict());  // stands in its place
          out.addresses.Append(address);
        } else {
          ARROW_RETURN_NOT_OK(CheckRow(result, address));
          if (refuses_) ARROW_RETURN_NOT_OK(refused.AppendNull());
          made.append(result);
          out.addresses.Append(address);
        }
      } catch (nb::python_error& error) {
        return RowErrorOf(address, steps_.front().callable.Error(error));
      }
    }
    int64_t bad_row = -1;
    auto columns = RowsFromPython(made, output_, &bad_row);
    if (!columns.ok()) {
      if (bad_row < 0) return columns.status();
      return RowError(out.addresses.At(bad_row),
                      name_ + " returned what cannot be kept: " + columns.status().message() +
                          "; return text, numbers, lists and dicts, or select the fields that are "
                          "needed before",
                      columns.status().code());
    }
    out.rows = std::move(*columns);
    if (refuses_) {
      ARROW_ASSIGN_OR_RAISE(auto marks, refused.Finish());
      ARROW_ASSIGN_OR_RAISE(
          out.rows, out.rows->AddColumn(out.rows->num_columns(), RefusedField(), std::move(marks)));
    }
    out.dropped = batch.dropped;
    CountDropped(&out, batch, lost, name_);
    return out;
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
    return nb::cast<std::string>(nb::str(error.type().attr("__name__"))) + ": " + text;
  }

  Status CheckRow(nb::handle row, const Address& address) const {
    if (PyDict_Check(row.ptr())) return Status::OK();
    const auto type = nb::cast<std::string>(nb::str(row.type().attr("__name__")));
    return RowError(address,
                    name_ + " returned " + type +
                        (kind_ == CallableKind::kExpand ? " as a row, expected a dict"
                                                        : ", expected a dict, or None to drop it"),
                    arrow::StatusCode::TypeError);
  }

  const std::vector<CalledStep> steps_;
  const CallableKind kind_;
  const Columns output_;
  const std::string name_;
  const bool refuses_;
};

}  // namespace

std::shared_ptr<const BatchOp> CallableOp(std::vector<CalledStep> steps, CallableKind kind,
                                          Columns output, std::string name) {
  return std::make_shared<CallableOpImpl>(std::move(steps), kind, std::move(output),
                                          std::move(name));
}

}  // namespace easydata
