#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <arrow/record_batch.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "bind_options.h"
#include "bindings.h"
#include "bound_plan.h"
#include "bound_stream.h"
#include "easydata/exec/exception_status.h"
#include "easydata/source/data_format.h"
#include "easydata/source/grain_order_stage.h"
#include "easydata/source/shard_error.h"
#include "easydata/source/shared_listing.h"
#include "easydata/source/source_stage.h"
#include "easydata/source/text_units.h"
#include "easydata/stream/column_kinds.h"
#include "easydata/stream/unit.h"
#include "operators/arrow_exchange.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "operators/json_objects.h"
#include "operators/limited_api.h"
#include "operators/rows.h"
#include "py_source.h"

namespace easydata {
namespace {

constexpr int64_t kRowsAtOnce = 512;

/// A pass over a stream, for Python's iterators.
class PassIterator {
 public:
  /// What of a stream is gone through, and how.
  struct Options {
    int64_t epoch = 0;
    int read_ahead = 0;
    std::shared_ptr<const Unit> unit = nullptr;  // null: all of it
    int num_threads = 0;                         // 0: those of all who do not say
  };

  PassIterator(StreamPlan plan, Options options) {
    WithoutGil released;
    context_.epoch = options.epoch;
    context_.read_ahead = options.read_ahead;
    context_.unit = std::move(options.unit);
    context_.pool = options.num_threads > 0
                        ? std::make_shared<exec::ThreadPool>(options.num_threads)
                        : SharedPool();
    auto made = exec::CatchExceptions([&] { return plan.make(context_); });
    status_ = made.status();
    if (made.ok()) stage_ = std::move(*made);
  }
  ~PassIterator() { Close(); }

  /// Raises what making the stage raised.
  void CheckMade() const { Check(status_); }

  std::optional<Batch> NextBatch(nb::object kept) {
    if (stage_ == nullptr) return std::nullopt;
    if (forks_ != exec::NumForks()) {
      Check(Status::UnknownError(
          "this iterator was made before the process was forked, and the threads that it reads "
          "with are its parent's; make a new one here"));
    }
    auto batch = Unwrap(WhileOthersRun(std::move(kept), [this] {
      return exec::CatchExceptions([this] { return stage_->Next(); });
    }));
    if (!batch.has_value()) Close();
    return batch;
  }

  /// How much of the pass, or of its unit, was read: from 0 to 1, where that is known.
  std::optional<double> ReadShare() const {
    return stage_ == nullptr ? 1.0 : stage_->stats().read.share();
  }

  void Close() {
    if (stage_ == nullptr && context_.pool == nullptr) return;
    if (forks_ != exec::NumForks()) {
      // Its threads are the parent's: nobody would end what runs there.
      (void)stage_.release();
      return;
    }
    // The stage goes before the pool that its tasks run in.
    struct Work {
      std::shared_ptr<exec::ThreadPool> pool;
      std::unique_ptr<Stage> stage;
    };
    Retire(std::make_shared<Work>(Work{std::move(context_.pool), std::move(stage_)}));
  }

 private:
  const uint64_t forks_ = exec::NumForks();
  StageContext context_;
  std::unique_ptr<Stage> stage_;
  Status status_;
};

class RowIterator {
 public:
  /// Without `ahead` for a look at the first rows: nothing is read or made before it is asked for.
  RowIterator(const Stream& stream, int64_t epoch, bool ahead, std::shared_ptr<const Unit> unit,
              int num_threads)
      : owned(stream.owned),
        pass_(stream.plan, {epoch, ahead ? 0 : 1, std::move(unit), num_threads}),
        rows_at_once_(ahead ? kRowsAtOnce : 1) {
    pass_.CheckMade();
  }

  Owned owned;

  /// A new reference to the next row, or null at the end. `self` is its Python object.
  PyObject* Next(nb::handle self) {
    while (at_ >= size_) {
      if (offset_ >= batch_.num_rows()) {
        auto batch = pass_.NextBatch(nb::borrow(self));
        if (!batch.has_value()) return nullptr;
        batch_ = std::move(*batch);
        offset_ = 0;
        continue;
      }
      const int64_t count = std::min(rows_at_once_, batch_.num_rows() - offset_);
      try {
        converter_.Start(*batch_.rows, offset_, count);
      } catch (const std::bad_alloc&) {
        return NoMemory(offset_);
      }
      offset_ += count;
      at_ = 0;
      size_ = count;
    }
    PyObject* row = converter_.Row(at_);
    if (row == nullptr && PyErr_ExceptionMatches(PyExc_MemoryError) != 0) {
      return NoMemory(offset_ - size_ + at_);
    }
    ++at_;
    return row;
  }

  void Close() {
    at_ = size_ = offset_ = 0;
    batch_ = Batch();
    converter_.Finish();
    pass_.Close();
  }
  void EndWork() { pass_.Close(); }

 private:
  /// Raises the error of a row of the batch that Python has no memory for, which says nothing of
  /// its own.
  PyObject* NoMemory(int64_t row) const {
    const std::string text =
        batch_.AddressOf(row).ToString() + " cannot be made a row of Python's: " + exec::kNoMemory;
    PyErr_SetString(PyExc_MemoryError, text.c_str());
    return nullptr;
  }

  PassIterator pass_;
  const int64_t rows_at_once_;
  RowConverter converter_;
  Batch batch_;
  int64_t offset_ = 0;
  int64_t at_ = 0;
  int64_t size_ = 0;
};

class BatchIterator {
 public:
  BatchIterator(const Stream& stream, int64_t epoch, std::shared_ptr<const Unit> unit,
                int num_threads)
      : owned(stream.owned),
        pass_(stream.plan, {.epoch = epoch, .unit = std::move(unit), .num_threads = num_threads}) {
    pass_.CheckMade();
  }
  nb::object Next() {
    auto batch = pass_.NextBatch(nb::find(*this));
    if (!batch.has_value()) throw nb::stop_iteration();
    return ExportBatch(batch->rows);
  }
  std::optional<double> ReadShare() const { return pass_.ReadShare(); }
  void Close() { pass_.Close(); }
  void EndWork() { pass_.Close(); }

  Owned owned;

 private:
  PassIterator pass_;
};

/// A unit of a stream; null: all of it.
std::shared_ptr<const Unit> UnitFromPython(const std::optional<Row>& unit) {
  if (!unit.has_value()) return nullptr;
  return std::make_shared<const Unit>(Unwrap(UnitFromJson(JsonFromPython(*unit, "unit"))));
}

/// Asks files for something, without the GIL.
template <typename Method, typename... Arguments>
auto AskSource(const PySource& self, Method method, Arguments... arguments) {
  return Unwrap(WhileOthersRun(nb::find(self),
                               [&] { return std::invoke(method, *self.source, arguments...); }));
}

std::vector<std::pair<nb::bytes, int64_t>> ColumnsOfFiles(const PySource& self) {
  std::vector<std::pair<nb::bytes, int64_t>> out;
  for (const auto& [schema, files] : AskSource(self, &source::FindColumns)) {
    out.emplace_back(nb::bytes(schema.data(), schema.size()), files);
  }
  return out;
}

void BindFormats(nb::module_& m) {
  m.def(
      "format_of_name", [](const std::string& path) { return source::FormatOfName(path); },
      nb::arg("path"), "The format that a file's name tells, or an empty string.");
  BindPlain<source::DataFormat>(m, "DataFormat", "A format of data files.")
      .def_prop_ro("name", [](const source::DataFormat& self) { return std::string(self.name); })
      .def_prop_ro(
          "kind", [](const source::DataFormat& self) { return std::string(self.kind); },
          "What formats have in common that may stand side by side.")
      .def_prop_ro(
          "builder", [](const source::DataFormat& self) { return std::string(self.builder); },
          "What the `datasets` library calls it; empty where it does not know it.")
      .def_prop_ro(
          "options",
          [](const source::DataFormat& self) {
            std::vector<std::string> names;
            for (const std::string_view name : self.options) {
              if (!name.empty()) names.emplace_back(name);
            }
            return names;
          },
          "The options that make_source() takes for it.");
  m.def(
      "data_formats",
      [] {
        std::vector<source::DataFormat> formats;
        for (const source::DataFormat* format : source::DataFormats()) formats.push_back(*format);
        return formats;
      },
      "All formats of data files.");
  m.def(
      "check_on_error",
      [](nb::handle on_error, bool has_quarantine_path, nb::handle on_missing) {
        Check(source::CheckOnError(ChoiceOf<source::OnError>("on_error", on_error),
                                   ChoiceOf<source::OnError>("on_missing", on_missing),
                                   has_quarantine_path));
      },
      nb::arg("on_error"), nb::arg("has_quarantine_path"), nb::arg("on_missing") = "raise",
      "Raises ValueError for what on_error and on_missing cannot be.");
  m.def(
      "check_identity",
      [](nb::handle identity) { ChoiceOf<files::IdentityKind>("identity", identity); },
      nb::arg("identity"), "Raises ValueError for what identity cannot be.");
  m.def(
      "check_sample_by",
      [](nb::handle sample_by) { ChoiceOf<source::TextUnit>("sample_by", sample_by); },
      nb::arg("sample_by"), "Raises ValueError for what sample_by cannot be.");
  m.def(
      "find_format",
      [](const std::string& name) -> std::optional<source::DataFormat> {
        const source::DataFormat* found = source::FindFormat(name);
        return found == nullptr ? std::nullopt : std::optional(*found);
      },
      nb::arg("name"), "The format of a name, or of a suffix without its dot; None for others.");
}

Stream StreamOf(const PySource& self, std::optional<NamedKinds> columns,
                std::optional<std::vector<std::string>> shards, int64_t start_row,
                source::SourceStageOptions options) {
  options.columns = ColumnsFromPython(columns);
  options.shards = std::move(shards);
  options.start_row = start_row;
  return Stream{Unwrap(source::SourcePlan(self.source, std::move(options))), Owned()};
}

Stream GrainRowsOf(const PySource& self, source::GrainOrderOptions options) {
  return Stream{Unwrap(source::GrainRowsPlan(self.source, std::move(options))), Owned()};
}

/// What a for loop calls, without the way through the binding of a method: it is called for each
/// row.
PyObject* NextRow(PyObject* self) {
  try {
    return nb::inst_ptr<RowIterator>(self)->Next(self);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

nb::object Self(nb::handle self) { return nb::borrow(self); }

}  // namespace

std::shared_ptr<exec::ThreadPool> SharedPool() {
  static std::mutex mutex;
  static std::weak_ptr<exec::ThreadPool> shared;
  std::lock_guard<std::mutex> lock(mutex);
  auto pool = shared.lock();
  if (pool == nullptr) {
    pool = std::make_shared<exec::ThreadPool>();
    shared = pool;
  }
  return pool;
}

Columns ColumnsFromPython(const std::optional<NamedKinds>& columns) {
  if (!columns.has_value()) return std::nullopt;
  if (!nb::hasattr(*columns, "items")) {
    Check(Status::TypeError("columns must be a dict of name to kind, not ", ClassNameOf(*columns)));
  }
  std::vector<ColumnRequest> out;
  for (nb::handle item : columns->items()) {
    const auto [name, kind] = nb::cast<std::pair<std::string, std::string>>(item);
    out.push_back({name, ChoiceOf<ColumnKind>("the kind of column '" + name + "'", kind)});
  }
  return out;
}

void BindSource(nb::module_& m) {
  BindOptions<source::GrainOrderOptions>(m);
  BindFiles(m);
  BindFormats(m);
  BindPlain<PySource>(m, "Source", "Files that can be read from any row on.")
      .def_prop_ro("shard_names", [](const PySource& self) { return self.source->shard_names(); })
      .def("stream", &StreamOf, nb::arg("columns"), nb::arg("shards"), nb::arg("start_row"),
           nb::arg("options"),
           "The rows of the shards, from row `start_row` of the first one on, or shuffled.")
      .def("grain_rows", &GrainRowsOf, nb::arg("options"),
           "A host's share of the rows in Grain's order: GrainRowsPlan().")
      .def("columns_of_files", &ColumnsOfFiles,
           "The columns of files that state their own, for FileListing.with_columns(): all headers "
           "or footers are read.")
      .def(
          "blocks_of_files",
          [](const PySource& self) { return AskSource(self, &source::FindBlocks); },
          "Of each file the rows before its blocks, and all, for FileListing.with_blocks(); None "
          "where only reading tells. All footers are read.")
      .def(
          "known_rows",
          [](const PySource& self, size_t shard) {
            return AskSource(self, &source::Source::KnownRows, shard);
          },
          nb::arg("shard"), "Rows of a shard where the file says so, else None.")
      .def(
          "count_rows",
          [](const PySource& self, size_t shard) {
            Result<int64_t> rows = WhileOthersRun(nb::find(self), [&] {
              return self.source->CountRows(shard, {SharedPool(), [](int64_t) {}});
            });
            if (!rows.ok()) {
              const auto name =
                  std::make_shared<const ShardRef>(ShardRef{"", self.source->shard_names()[shard]});
              rows = source::ShardError(rows.status(), name, std::nullopt);
            }
            return Unwrap(std::move(rows));
          },
          nb::arg("shard"), "Rows of a shard, counted where the file does not say.");

  m.def(
      "make_source",
      [](const PyFileListing& files, const std::string& format,
         nb::typed<nb::dict, nb::str, nb::object> options) {
        const nlohmann::json given = JsonFromPython(options, "options");
        PySource out{Unwrap(source::MakeSource(format, files.files, given))};
        // Rows with values that have no column have a column more for these.
        if (!given.value("keep_rest", false))
          Check(source::RememberColumns(files.columns, *out.source));
        return out;
      },
      nb::arg("files"), nb::arg("format"), nb::arg("options"),
      "A source of files of a format; options that are missing have the format's defaults.");
  m.def(
      "schema_of",
      [](const Stream& stream) -> nb::typed<nb::object, nb::any> {
        return ExportSchema(SchemaOf(stream));
      },
      nb::arg("stream"), "The schema of a stream's batches, as a pyarrow.Schema.");
  auto rows = BindOwner<RowIterator>(m, "RowIterator", "Rows of a stream as dicts.");
  rows.def("__iter__", &Self, nb::sig("def __iter__(self) -> RowIterator"))
      .def(
          "__next__",
          [](nb::handle self) {
            nb::object row = nb::steal(NextRow(self.ptr()));
            if (row.is_valid()) return row;
            if (PyErr_Occurred()) throw nb::python_error();
            throw nb::stop_iteration();
          },
          nb::sig("def __next__(self) -> dict[str, typing.Any]"))
      .def("close", &RowIterator::Close, "Ends the reading behind it; later calls give no rows.");
#ifndef Py_LIMITED_API
  // Without a method's call for each row.
  reinterpret_cast<PyTypeObject*>(rows.ptr())->tp_iternext = &NextRow;
#endif
  BindOwner<BatchIterator>(m, "BatchIterator", "Batches of a stream as pyarrow record batches.")
      .def("__iter__", &Self, nb::sig("def __iter__(self) -> BatchIterator"))
      .def("__next__", &BatchIterator::Next)
      .def_prop_ro("read_share", &BatchIterator::ReadShare,
                   "How much of what is gone through was read: an estimate from 0 to 1, or None.")
      .def("close", &BatchIterator::Close);
  m.def(
      "iterate_rows",
      [](const Stream& stream, int64_t epoch, bool ahead, const std::optional<Row>& unit,
         int num_threads) {
        return new RowIterator(stream, epoch, ahead, UnitFromPython(unit), num_threads);
      },
      nb::arg("stream"), nb::arg("epoch") = 0, nb::arg("ahead") = true,
      nb::arg("unit") = nb::none(), nb::arg("num_threads") = 0,
      "One pass over a stream, row by row. For a look at the first rows, `ahead=False` reads no "
      "further than it must. `unit`: the part of it to read, one of divided(). `num_threads`: on "
      "so many of its own; 0: on those that all share who do not say.");
  m.def(
      "divided",
      [](const Stream& stream, int64_t bytes) -> std::optional<nb::typed<nb::list, Row>> {
        const DivideFunction& divide = stream.plan.facts().divide;
        if (divide == nullptr) return std::nullopt;
        nb::list out;
        for (const Unit& unit : Unwrap(WhileOthersRun([&] { return divide(bytes); }))) {
          out.append(JsonToPython(ToJson(unit)));
        }
        return out;
      },
      nb::arg("stream"), nb::arg("bytes"),
      "The units of a stream, in its order, each of about so many bytes of its files, that may be "
      "read apart from each other; None where it cannot be divided.");
  m.def(
      "iterate_batches",
      [](const Stream& stream, int64_t epoch, const std::optional<Row>& unit, int num_threads) {
        return new BatchIterator(stream, epoch, UnitFromPython(unit), num_threads);
      },
      nb::arg("stream"), nb::arg("epoch") = 0, nb::arg("unit") = nb::none(),
      nb::arg("num_threads") = 0,
      "One pass over a stream, batch by batch; `unit` and `num_threads` as iterate_rows() has "
      "them.");
}

}  // namespace easydata
