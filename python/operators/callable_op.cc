#include "operators/callable_op.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/plan/refused_rows.h"
#include "easydata/source/json_rows.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/piecewise_op.h"
#include "easydata/stream/row_error.h"
#include "easydata/stream/slices.h"
#include "operators/engine_gil.h"
#include "operators/limited_api.h"
#include "operators/refused_rows.h"
#include "operators/rows.h"

namespace easydata {
namespace {

/// Pieces that are worked on together take about this long: a thread that waits for the GIL gets it
/// after as long (sys.getswitchinterval), so that taking it costs little beside them.
constexpr double kSecondsAtOnce = 0.005;

/// Parsers whose memory is kept for the next rows: one a thread, where rows come in long runs.
constexpr size_t kMostUnused = 8;

/// About so many bytes are made in the same columns, which have 2 GiB at most.
constexpr int64_t kBytesAtOnce = 16 << 20;

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
    return std::move(ApplyEach({&batch, 1}).front());
  }

  std::vector<Result<Batch>> ApplyEach(std::span<const Batch> pieces) const override {
    std::vector<Run> runs = RunsOf(pieces);
    Called called = CallEach(runs, pieces);
    GiveBack(std::move(runs));
    auto done = kind_ == CallableKind::kFilter
                    ? KeepRowsOfEach(pieces.first(called.keep.size()), called.keep, name_)
                    : WriteRows(std::move(called.made), called.rows);
    if (!done.ok()) return {done.status()};
    std::vector<Result<Batch>> out(std::make_move_iterator(done->begin()),
                                   std::make_move_iterator(done->end()));
    if (!called.error.ok()) out.push_back(std::move(called.error));
    return out;
  }

 private:
  /// What is made of the rows of pieces.
  struct Made {
    explicit Made(const Columns& output) : columns(output) {}

    RowColumns columns;
    arrow::StringBuilder refused;
    std::vector<int64_t> ends;  // of the rows of each piece since columns were finished
  };

  /// The rows of some pieces.
  struct MadeRows {
    UnwrittenRows rows;
    std::shared_ptr<arrow::Array> refused;
    std::vector<int64_t> ends;  // of each piece
  };

  /// What came of calling, before what needs no GIL is done.
  struct Called {
    std::vector<std::vector<int64_t>> keep;  // of a filter: rows by piece
    std::vector<Batch> made;                 // of others: pieces without their rows
    std::vector<MadeRows> rows;              // of these
    Status error;                            // of the piece after them
  };

  /// The rows of pieces: those of slices of one batch are parsed, and converted, together.
  struct Run {
    std::shared_ptr<arrow::RecordBatch> rows;
    std::unique_ptr<ParsedRows> parsed;
    size_t num_pieces;
  };

  std::vector<Run> RunsOf(std::span<const Batch> pieces) const {
    std::vector<Run> runs;
    for (JoinedRows& joined : JoinRows(pieces)) {
      auto parsed = TakeParsed();
      parsed->Parse(*joined.rows);
      runs.push_back({std::move(joined.rows), std::move(parsed), joined.num_batches});
    }
    return runs;
  }

  /// Parsed rows that nobody uses, whose memory is used again.
  std::unique_ptr<ParsedRows> TakeParsed() const {
    std::lock_guard<std::mutex> lock(unused_mutex_);
    if (unused_.empty()) return std::make_unique<ParsedRows>();
    auto parsed = std::move(unused_.back());
    unused_.pop_back();
    return parsed;
  }

  void GiveBack(std::vector<Run> runs) const {
    std::lock_guard<std::mutex> lock(unused_mutex_);
    for (Run& run : runs) {
      if (unused_.size() < kMostUnused) unused_.push_back(std::move(run.parsed));
    }
  }

  /// Gives the rows of pieces, in order, as dicts.
  class RowsOfPieces {
   public:
    explicit RowsOfPieces(const std::vector<Run>& runs) : run_(runs.begin()) {}

    void Begin(const Batch& piece) {
      if (piece_ == 0) {
        row_ = 0;
        converter_.Start(*run_->rows, *run_->parsed);
      }
      converter_.Begin(row_, piece.num_rows());
      if (++piece_ < run_->num_pieces) return;
      piece_ = 0;
      ++run_;
    }

    nb::object Next() {
      nb::object row = nb::steal(converter_.Row(row_++));
      if (!row.is_valid()) throw nb::python_error();
      return row;
    }

   private:
    RowConverter converter_;
    std::vector<Run>::const_iterator run_;  // of the next piece
    size_t piece_ = 0;                      // of the run: which is the next
    int64_t row_ = 0;                       // of the rows in the converter: which is the next
  };

  Called CallEach(const std::vector<Run>& runs, std::span<const Batch> pieces) const {
    Called called;
    EngineGil gil;
    if (!gil.held()) return called.error = EngineGil::Ending(), std::move(called);
    std::vector<nb::object> callables;
    for (const CalledStep& step : steps_) {
      callables.push_back(step.callable.Get());
      if (!callables.back().is_valid()) return called.error = Borrowed::Gone(), std::move(called);
    }
    // Without the wait for the GIL, which says nothing of the callables.
    const auto begin = std::chrono::steady_clock::now();
    called.error = kind_ == CallableKind::kFilter ? FilterEach(callables, runs, pieces, &called)
                                                  : MapEach(callables, runs, pieces, &called);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const size_t num_done = called.keep.size() + called.made.size();
    seconds_per_piece_ = taken.count() / static_cast<double>(std::max<size_t>(num_done, 1));
    return called;
  }

  /// Calls `work` for each piece, up to the first that fails, whose error it returns.
  template <typename Work>
  Status ForEach(std::span<const Batch> pieces, const std::vector<Run>& runs, Work work) const {
    RowsOfPieces rows(runs);
    for (const Batch& piece : pieces) {
      ARROW_RETURN_NOT_OK(exec::CatchExceptions([&]() -> Status {
        try {
          rows.Begin(piece);
          return work(piece, &rows);
        } catch (nb::python_error& error) {
          return ErrorOf(error);
        }
      }));
    }
    return Status::OK();
  }

  Status FilterEach(const std::vector<nb::object>& callables, const std::vector<Run>& runs,
                    std::span<const Batch> pieces, Called* called) const {
    return ForEach(pieces, runs, [&](const Batch& piece, RowsOfPieces* rows) {
      ARROW_ASSIGN_OR_RAISE(std::vector<int64_t> kept, RowsToKeep(callables[0], piece, rows));
      called->keep.push_back(std::move(kept));
      return Status::OK();
    });
  }

  Status MapEach(const std::vector<nb::object>& callables, const std::vector<Run>& runs,
                 std::span<const Batch> pieces, Called* called) const {
    Made made(output_);
    const auto take_rows = [&]() -> Status {
      // Once: after an error they are not asked for again.
      MadeRows taken{{}, nullptr, std::exchange(made.ends, {})};
      ARROW_ASSIGN_OR_RAISE(taken.rows, made.columns.FinishUnwritten());
      if (refuses_) ARROW_RETURN_NOT_OK(made.refused.Finish(&taken.refused));
      called->rows.push_back(std::move(taken));
      return Status::OK();
    };
    const Status error = ForEach(pieces, runs, [&](const Batch& piece, RowsOfPieces* rows) {
      ARROW_ASSIGN_OR_RAISE(Batch mapped, Map(callables, piece, rows, &made));
      called->made.push_back(std::move(mapped));
      made.ends.push_back(made.columns.num_rows());
      return made.columns.num_bytes() < kBytesAtOnce ? Status::OK() : take_rows();
    });
    if (!made.ends.empty()) ARROW_RETURN_NOT_OK(take_rows());
    return error;
  }

  /// Gives pieces the rows that were made of them, as slices of the same columns.
  Result<std::vector<Batch>> WriteRows(std::vector<Batch> pieces,
                                       const std::vector<MadeRows>& made) const {
    size_t piece = 0;
    for (const MadeRows& some : made) {
      ARROW_ASSIGN_OR_RAISE(auto rows, some.rows.Write());
      if (refuses_) {
        auto marks = some.refused->Slice(0, rows->num_rows());
        ARROW_ASSIGN_OR_RAISE(
            rows, rows->AddColumn(rows->num_columns(), plan::RefusedField(), std::move(marks)));
      }
      int64_t begin = 0;
      for (const int64_t end : some.ends) {
        pieces[piece++].rows = rows->Slice(begin, end - begin);
        begin = end;
      }
    }
    pieces.resize(piece);
    return pieces;
  }

  static nb::object CallOne(const nb::object& callable, const nb::object& row) {
    nb::object result =
        nb::steal(CallPython([&] { return PyObject_CallOneArg(callable.ptr(), row.ptr()); }));
    if (!result.is_valid()) throw nb::python_error();
    return result;
  }

  /// An exception of one of the callables.
  Status ErrorOf(nb::python_error& error) const { return steps_.front().callable.Error(error); }

  Result<std::vector<int64_t>> RowsToKeep(const nb::object& callable, const Batch& batch,
                                          RowsOfPieces* rows) const {
    std::vector<int64_t> keep;
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      if (Stopped()) return Closed();
      try {
        const nb::object answer = CallOne(callable, rows->Next());
        const int truth = CallPython([&] { return PyObject_IsTrue(answer.ptr()); });
        if (truth < 0) throw nb::python_error();
        if (truth == 1) keep.push_back(i);
      } catch (nb::python_error& error) {
        return RowErrorOf(batch.addresses.At(i), ErrorOf(error));
      }
    }
    return keep;
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

  /// Adds what comes of the rows of a piece to `made`; returns the piece without them.
  Result<Batch> Map(const std::vector<nb::object>& callables, const Batch& batch,
                    RowsOfPieces* rows, Made* made) const {
    Batch out;
    std::vector<int64_t> keep;
    std::vector<int64_t> lost;
    Address last;
    int32_t sub_row = 0;
    for (int64_t i = 0; i < batch.num_rows(); ++i) {
      if (Stopped()) return Closed();
      try {
        const nb::object result = RunSteps(callables, 0, rows->Next());
        if (kind_ == CallableKind::kExpand) {
          Address address = batch.addresses.At(i);
          // Parts of parts are numbered on, so that addresses stay distinct.
          if (address.shard != last.shard || address.row != last.row) sub_row = 0;
          last = address;
          const int64_t before = made->columns.num_rows();
          for (nb::handle row : nb::iter(result)) {
            if (Stopped()) return Closed();
            ARROW_RETURN_NOT_OK(CheckRow(row, address));
            const Address part{address.shard, address.row, sub_row++};
            const Status kept = made->columns.Append(row);
            if (!kept.ok()) return CannotBeKept(kept, part);
            out.addresses.Append(part);
          }
          if (made->columns.num_rows() == before) lost.push_back(i);
        } else if (result.is_none()) {
          lost.push_back(i);
        } else if (refuses_ && PyExceptionInstance_Check(result.ptr())) {
          ARROW_ASSIGN_OR_RAISE(
              const std::string mark,
              plan::Refusal(batch, i, Reason(result), ErrorText(result), PythonRowText));
          ARROW_RETURN_NOT_OK(made->refused.Append(mark));
          // An empty row stands in its place.
          ARROW_RETURN_NOT_OK(made->columns.Append(nb::dict()));
          keep.push_back(i);
        } else {
          if (!PyDict_Check(result.ptr())) return CheckRow(result, batch.addresses.At(i));
          if (refuses_) ARROW_RETURN_NOT_OK(made->refused.AppendNull());
          const Status kept = made->columns.Append(result);
          if (!kept.ok()) return CannotBeKept(kept, batch.addresses.At(i));
          keep.push_back(i);
        }
      } catch (nb::python_error& error) {
        return RowErrorOf(batch.addresses.At(i), ErrorOf(error));
      }
    }
    if (kind_ != CallableKind::kExpand) {
      out.addresses = lost.empty() ? batch.addresses : batch.addresses.Take(keep);
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
  mutable std::mutex unused_mutex_;
  mutable std::vector<std::unique_ptr<ParsedRows>> unused_;
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
