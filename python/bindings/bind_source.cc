#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>

#include "arrow_exchange.h"
#include "bind_options.h"
#include "bindings.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/stop_scope.h"
#include "easydata/io/brace_pattern.h"
#include "easydata/io/file_system.h"
#include "easydata/io/web_store.h"
#include "easydata/json/json_column.h"
#include "easydata/source/concat_stage.h"
#include "easydata/source/data_files.h"
#include "easydata/source/data_format.h"
#include "easydata/source/source_stage.h"
#include "easydata/stream/lane_rows_stage.h"
#include "easydata/stream/stage_timer.h"
#include "engine_gil.h"
#include "option_value.h"
#include "py_source.h"
#include "python_stage.h"
#include "rows.h"

namespace easydata {
std::shared_ptr<const io::Storage> StorageFromPython(nb::handle options) {
  if (options.is_none()) return std::make_shared<io::Storage>(io::StorageOptions());
  const nlohmann::json json =
      JsonFromPython(MappingOption("storage_options", options), "storage_options");
  return std::make_shared<io::Storage>(Unwrap(io::StorageOptions::FromJson(json)));
}

namespace {

constexpr int64_t kRowsAtOnce = 512;

source::ReadContext CountingContext() {
  return {SharedPool(), [](int64_t) {}};
}

/// A pass over a stream, for Python's iterators.
class PassIterator {
 public:
  PassIterator(StreamPlan plan, int64_t epoch, int read_ahead = 0) {
    WithoutGil released;
    context_.epoch = epoch;
    context_.read_ahead = read_ahead;
    context_.pool = SharedPool();
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
    Result<std::optional<Batch>> next{std::optional<Batch>()};
    {
      WithoutGil released(std::move(kept));
      next = exec::CatchExceptions([this] { return stage_->Next(); });
    }
    auto batch = Unwrap(std::move(next));
    if (!batch.has_value()) Close();
    return batch;
  }

  std::shared_ptr<arrow::Schema> schema() const { return stage_->schema(); }

  void Close() {
    if (stage_ == nullptr && context_.pool == nullptr) return;
    if (forks_ != exec::NumForks()) {
      // Its threads are the parent's: nobody would end what runs there.
      (void)stage_.release();
      return;
    }
    // Running tasks may need the GIL to end.
    WithoutGil released;
    stage_.reset();
    context_.pool.reset();
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
  RowIterator(const StreamPlan& plan, int64_t epoch, bool ahead)
      : pass_(plan, epoch, ahead ? 0 : 1), rows_at_once_(ahead ? kRowsAtOnce : 1) {
    pass_.CheckMade();
  }

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
      converter_.Start(*batch_.rows, offset_, count);
      offset_ += count;
      at_ = 0;
      size_ = count;
    }
    return converter_.Row(at_++);
  }

  void Close() {
    at_ = size_ = offset_ = 0;
    batch_ = Batch();
    converter_.Finish();
    pass_.Close();
  }

 private:
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
  BatchIterator(const StreamPlan& plan, int64_t epoch) : pass_(plan, epoch) { pass_.CheckMade(); }
  nb::object Next() {
    auto batch = pass_.NextBatch(nb::find(*this));
    if (!batch.has_value()) throw nb::stop_iteration();
    return ExportBatch(batch->rows);
  }
  void Close() { pass_.Close(); }

 private:
  PassIterator pass_;
};

source::OnError OnErrorOf(const std::string& name) {
  return ChoiceOf<source::OnError>("on_error", name);
}

io::IdentityKind IdentityOf(const std::string& name) {
  return ChoiceOf<io::IdentityKind>("identity", name);
}

/// The same files by another identity. Hashing goes on without the GIL; Ctrl-C ends it.
PyFileListing WithIdentity(const PyFileListing& listing, const std::string& identity) {
  const io::IdentityKind kind = IdentityOf(identity);
  PyFileListing out = listing;
  Status status;
  {
    WithoutGil released;
    for (io::FileInfo& file : out.files) {
      status = io::SetIdentity(kind, exec::StopScope::Interrupted, &file);
      if (!status.ok()) break;
    }
  }
  Check(status);
  return out;
}

/// What pickle keeps of a file: URI, size, identity by name, time of change, hash.
using PickledFile = std::tuple<std::string, int64_t, std::string, int64_t, std::string>;
/// The files, the options that reach them as JSON, and addresses with what is secret in them.
using PickledListing = std::tuple<std::vector<PickledFile>, std::string, std::vector<std::string>>;

PickledListing PickleFiles(const PyFileListing& listing) {
  std::vector<PickledFile> files;
  for (const io::FileInfo& file : listing.files) {
    files.emplace_back(file.uri, file.size,
                       NameOf(io::NamesOf(file.identity.kind), file.identity.kind),
                       file.identity.mtime_ns, file.identity.tag);
  }
  return {std::move(files), listing.storage->options().ToJson().dump(),
          listing.storage->secret_addresses()};
}

PyFileListing UnpickleFiles(const PickledListing& pickled) {
  const auto& [files, options, addresses] = pickled;
  PyFileListing out;
  out.storage = std::make_shared<io::Storage>(
      Unwrap(io::StorageOptions::FromJson(nlohmann::json::parse(options))));
  for (const std::string& address : addresses) Unwrap(out.storage->NameOf(address));
  for (const auto& [uri, size, kind, mtime_ns, tag] : files) {
    out.files.push_back({uri, size, {IdentityOf(kind), mtime_ns, tag}, out.storage});
  }
  return out;
}

/// A listing as JSON, for other processes of the job: [[uri, bytes, mtime_ns, tag], ...].
std::string ListingToJson(const PyFileListing& listing) {
  nlohmann::json files = nlohmann::json::array();
  for (const io::FileInfo& file : listing.files) {
    files.push_back({file.uri, file.size, file.identity.mtime_ns, file.identity.tag});
  }
  return files.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The listing that ListingToJson() wrote. `data_files` name what is secret in addresses.
PyFileListing ListingFromJson(const std::string& text, const std::vector<std::string>& data_files,
                              nb::handle storage_options) {
  PyFileListing out;
  out.storage = StorageFromPython(storage_options);
  for (const std::string& item : data_files) {
    if (item.find("://") == std::string::npos) continue;
    for (const std::string& name : Unwrap(io::ExpandBraces(item))) Unwrap(out.storage->NameOf(name));
  }
  const auto files = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto is_file = [](const nlohmann::json& file) {
    return file.is_array() && file.size() == 4 && file[0].is_string() &&
           file[1].is_number_integer() && file[2].is_number_integer() && file[3].is_string();
  };
  if (!files.is_array() || !std::all_of(files.begin(), files.end(), is_file)) {
    throw nb::value_error("it is no listing that freeze() made");
  }
  for (const nlohmann::json& file : files) {
    out.files.push_back({file[0].get<std::string>(),
                         file[1].get<int64_t>(),
                         {io::IdentityKind::kTime, file[2].get<int64_t>(),
                          file[3].get<std::string>()},
                         out.storage});
  }
  return out;
}

void BindListing(nb::module_& m) {
  nb::class_<PyFileListing>(m, "FileListing", "Files as they were when they were listed.")
      .def_prop_ro("uris",
                   [](const PyFileListing& self) {
                     std::vector<std::string> uris;
                     for (const io::FileInfo& file : self.files) uris.push_back(file.uri);
                     return uris;
                   })
      .def(
          "size_of",
          [](const PyFileListing& self, size_t index) { return self.files.at(index).size; },
          nb::arg("index"), "Bytes of a file.")
      .def("with_identity", &WithIdentity, nb::arg("identity"),
           "The same files, told from others by \"mtime\", \"content\" (for which each is read, "
           "once) "
           "or \"size\".")
      .def("to_json", &ListingToJson, "The listing as JSON, for other processes of the job.")
      .def_static("from_json", &ListingFromJson, nb::arg("text"), nb::arg("data_files"),
                  nb::arg("storage_options") = nb::none(),
                  "The listing that to_json() wrote of these data_files.")
      .def("__len__", [](const PyFileListing& self) { return self.files.size(); })
      .def("__getstate__", &PickleFiles)
      .def("__setstate__", [](PyFileListing& self, const PickledListing& pickled) {
        new (&self) PyFileListing(UnpickleFiles(pickled));
      });
  m.def(
      "list_data_files",
      [](const std::vector<std::string>& data_files, nb::handle storage_options) {
        PyFileListing listing;
        listing.storage = StorageFromPython(storage_options);
        Result<source::DataFiles> listed = source::DataFiles();
        {
          WithoutGil released;
          listed = source::ListDataFiles(data_files, listing.storage);
        }
        source::DataFiles found = Unwrap(std::move(listed));
        listing.files = std::move(found.files);
        return std::pair(std::move(listing), std::move(found.left_out));
      },
      nb::arg("data_files"), nb::arg("storage_options") = nb::none(),
      "The files that paths, patterns and folders stand for, and what was left out beside them.");
  m.def(
      "public_address", [](const std::string& address) { return io::PublicAddress(address); },
      nb::arg("address"), "An address without what is secret in it.");
  m.def(
      "exists",
      [](const std::string& uri) {
        const auto files = io::FileSystemOf(uri);
        bool exists = false;
        {
          WithoutGil released;
          exists = files.ok() && (*files)->Exists(uri);
        }
        if (PyErr_Occurred() != nullptr) throw nb::python_error();  // it was interrupted
        return exists;
      },
      nb::arg("uri"),
      "Whether there is a file or a folder of this name, as far as it can be told.");
  m.def(
      "format_of_name", [](const std::string& path) { return source::FormatOfName(path); },
      nb::arg("path"), "The format that a file's name tells, or an empty string.");
  nb::class_<source::DataFormat>(m, "DataFormat", "A format of data files.")
      .def_prop_ro("name", [](const source::DataFormat& self) { return std::string(self.name); })
      .def_prop_ro(
          "kind", [](const source::DataFormat& self) { return std::string(self.kind); },
          "What formats have in common that may stand side by side.")
      .def_prop_ro(
          "builder", [](const source::DataFormat& self) { return std::string(self.builder); },
          "What the `datasets` library calls it; empty where it does not know it.")
      .def_ro("has_one_schema", &source::DataFormat::has_one_schema,
              "Whether all files give columns of one schema.");
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
        Check(source::CheckOnError(OptionReader<source::OnError>::Read("on_error", on_error),
                                   OptionReader<source::OnError>::Read("on_missing", on_missing),
                                   has_quarantine_path));
      },
      nb::arg("on_error"), nb::arg("has_quarantine_path"), nb::arg("on_missing") = "raise",
      "Raises ValueError for what on_error and on_missing cannot be.");
  m.def(
      "check_identity",
      [](nb::handle identity) { OptionReader<io::IdentityKind>::Read("identity", identity); },
      nb::arg("identity"), "Raises ValueError for what identity cannot be.");
  m.def(
      "find_format",
      [](const std::string& name) -> std::optional<source::DataFormat> {
        const source::DataFormat* found = source::FindFormat(name);
        return found == nullptr ? std::nullopt : std::optional(*found);
      },
      nb::arg("name"), "The format of a name, or of a suffix without its dot; None for others.");
}

source::SourceShuffleOptions ShuffleOf(const std::optional<std::string>& mode, uint64_t seed,
                                       std::optional<int64_t> window_bytes) {
  source::SourceShuffleOptions options;
  if (mode.has_value()) options.mode = ChoiceOf<source::SourceShuffle>("mode", *mode);
  options.seed = seed;
  options.window_bytes = window_bytes;
  return options;
}

/// Refuses what source.shuffle() cannot do.
void CheckShuffle(nb::handle mode, nb::handle seed, nb::handle window_bytes) {
  const source::SourceShuffleOptions options =
      ShuffleOf(OptionValue<std::string>("mode", mode), OptionValue<uint64_t>("seed", seed),
                OptionalValue<int64_t>("window_bytes", window_bytes));
  Check(options.Validate());
}

Stream StreamOf(const PySource& self, nb::object columns,
                std::optional<std::vector<std::string>> shards, int64_t start_row,
                const std::string& name, const std::string& on_error,
                const std::string& quarantine_path, nb::object report,
                const std::optional<std::string>& shuffle, uint64_t seed,
                std::optional<int64_t> window_bytes, const std::string& on_missing) {
  source::SourceStageOptions options;
  options.on_missing = ChoiceOf<source::OnError>("on_missing", on_missing);
  options.shuffle = ShuffleOf(shuffle, seed, window_bytes);
  options.name = name;
  options.columns = ColumnsFromPython(columns);
  options.shards = std::move(shards);
  options.start_row = start_row;
  options.on_error = OnErrorOf(on_error);
  options.quarantine_path = quarantine_path;
  if (!report.is_none()) {
    options.report = [report = SharedObject(std::move(report))](const std::string& message) {
      EngineGil gil;
      if (!gil.held()) return;
      try {
        CallPython([&] { return (*report)(message); });
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("reporting a row that was left out");
      }
    };
  }
  return Stream{Unwrap(source::SourcePlan(self.source, std::move(options)))};
}

Stream PythonStream(nb::object open, std::vector<std::string> shard_names, nb::object columns,
                    nb::object schema, nb::object description, const std::string& name,
                    int64_t start_row, const std::optional<std::string>& shuffle, uint64_t seed,
                    std::optional<int64_t> window_bytes, std::optional<int64_t> num_rows) {
  auto source = std::make_shared<PythonSource>();
  source->shard_names = std::move(shard_names);
  source->open = std::move(open);
  source->columns = ColumnsFromPython(columns);
  if (!schema.is_none()) source->schema = Unwrap(ImportSchema(schema));
  source->name = name;
  source->start_row = start_row;
  source->num_rows = num_rows;
  const source::SourceShuffleOptions order = ShuffleOf(shuffle, seed, window_bytes);
  if (order.mode != source::SourceShuffle::kNone) source->shuffle_seed = seed;
  nlohmann::json described = JsonFromPython(description, "description");
  if (start_row != 0) described["start_row"] = start_row;
  if (!columns.is_none()) described["columns"] = JsonFromPython(columns, "columns");
  described["shards"] = source->shard_names;
  if (source->shuffle_seed.has_value()) described["shuffle_seed"] = seed;
  Stream stream;
  auto node = MakeNode("source", described);
  if (num_rows.has_value()) node->facts.finitude = Finitude::kFinite;
  stream.plan.node = std::move(node);
  stream.plan.make = [source](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    ARROW_ASSIGN_OR_RAISE(auto stage, MakePythonStage(source, context));
    const auto shard_rows =
        [rows = source->num_rows]() -> Result<std::optional<std::vector<int64_t>>> {
      if (!rows.has_value()) return std::nullopt;
      return std::vector<int64_t>{*rows};
    };
    return Timed(SelectLaneRows(std::move(stage), context, shard_rows), "source");
  };
  if (order.mode == source::SourceShuffle::kRows) {
    stream.plan = Unwrap(source::ShuffleRows(std::move(stream.plan), order));
  }
  return stream;
}

Stream Concat(nb::list streams, nb::list shard_names) {
  std::vector<source::ConcatPart> parts;
  for (size_t i = 0; i < nb::len(streams); ++i) {
    source::ConcatPart part;
    part.plan = nb::cast<Stream&>(streams[i]).plan;
    const nb::dict names = nb::cast<nb::dict>(shard_names[i]);
    for (auto [name, renamed] : names) {
      part.shard_names[nb::cast<std::string>(name)] = nb::cast<std::string>(renamed);
    }
    parts.push_back(std::move(part));
  }
  return Stream{source::ConcatPlan(std::move(parts))};
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

Columns ColumnsFromPython(nb::handle columns) {
  if (columns.is_none()) return std::nullopt;
  if (!PyDict_Check(columns.ptr())) throw nb::type_error("columns must be a dict of name to kind");
  std::vector<ColumnRequest> out;
  for (auto [name, kind] : nb::borrow<nb::dict>(columns)) {
    const std::string text = nb::cast<std::string>(kind);
    ColumnRequest request{nb::cast<std::string>(name), ColumnKind::kAny};
    if (text == "text") {
      request.kind = ColumnKind::kText;
    } else if (text == "tokens") {
      request.kind = ColumnKind::kTokens;
    } else if (text != "any") {
      throw nb::value_error(
          ("a column's kind is \"any\", \"text\" or \"tokens\", got \"" + text + "\"").c_str());
    }
    out.push_back(std::move(request));
  }
  return out;
}

void BindSource(nb::module_& m) {
  BindListing(m);
  nb::class_<PySource>(m, "Source", "Files that can be read from any row on.")
      .def_prop_ro("shard_names", [](const PySource& self) { return self.source->shard_names(); })
      .def("stream", &StreamOf, nb::arg("columns") = nb::none(), nb::arg("shards") = nb::none(),
           nb::arg("start_row") = 0, nb::arg("name") = "", nb::arg("on_error") = "raise",
           nb::arg("quarantine_path") = "", nb::arg("report") = nb::none(),
           nb::arg("shuffle") = nb::none(), nb::arg("seed") = 0,
           nb::arg("window_bytes") = nb::none(), nb::arg("on_missing") = "raise",
           nb::sig(
               "def stream(self, columns: dict[str, str] | None = None, shards: "
               "collections.abc.Sequence[str] | None = None, start_row: int = 0, name: str = "
               "'', on_error: str = 'raise', quarantine_path: str = '', report: "
               "collections.abc.Callable[[str], object] | None = None, shuffle: str | None = None, "
               "seed: int = 0, window_bytes: int | None = None, on_missing: str = 'raise') -> "
               "Stream"),
           "The rows of the shards, from row `start_row` of the first one on, or shuffled.")
      .def(
          "known_rows",
          [](const PySource& self, size_t shard) {
            Result<std::optional<int64_t>> rows = std::optional<int64_t>();
            {
              WithoutGil released(nb::find(self));
              rows = self.source->KnownRows(shard);
            }
            return Unwrap(std::move(rows));
          },
          nb::arg("shard"), "Rows of a shard where the file says so, else None.")
      .def(
          "count_rows",
          [](const PySource& self, size_t shard) {
            Result<int64_t> rows = int64_t{0};
            {
              WithoutGil released(nb::find(self));
              rows = self.source->CountRows(shard, CountingContext());
            }
            return Unwrap(std::move(rows));
          },
          nb::arg("shard"), "Rows of a shard, counted where the file does not say.")
      .def(
          "column_names",
          [](const PySource& self, nb::object columns) -> std::optional<std::vector<std::string>> {
            const Columns wanted = ColumnsFromPython(columns);
            Result<std::shared_ptr<arrow::Schema>> schema = std::shared_ptr<arrow::Schema>();
            {
              WithoutGil released(nb::find(self));
              schema = self.source->Schema(wanted, 0);
            }
            std::vector<std::string> names = Unwrap(std::move(schema))->field_names();
            if (std::find(names.begin(), names.end(), json::kRowColumn) != names.end()) {
              return std::nullopt;
            }
            return names;
          },
          nb::arg("columns") = nb::none(),
          nb::sig("def column_names(self, columns: dict[str, str] | None = None) -> list[str] | "
                  "None"),
          "Names of the rows' columns, by the first shard; None where rows have no schema.")
      .def(
          "peek",
          [](const PySource& self, int64_t num_rows, const std::string& on_error) {
            const source::OnError policy = OnErrorOf(on_error);
            Result<source::FirstRows> peeked = source::FirstRows();
            {
              WithoutGil released(nb::find(self));
              peeked = self.source->Peek(num_rows, policy);
            }
            nb::list rows;
            // Reading on tells of an error, and where it is.
            if (!peeked.ok()) return std::pair(rows, false);
            RowConverter converter;
            for (const auto& batch : peeked->batches) {
              rows.extend(converter.Convert(*batch, 0, batch->num_rows()));
            }
            return std::pair(rows, peeked->is_all);
          },
          nb::arg("num_rows"), nb::arg("on_error"),
          nb::sig("def peek(self, num_rows: int, on_error: str) -> tuple[list[dict[str, "
                  "typing.Any]], bool]"),
          "The first rows up to one that cannot be read, and whether there are no others.")
      .def(
          "num_blocks",
          [](const PySource& self, size_t shard) {
            Result<source::Blocks> blocks = source::Blocks();
            {
              WithoutGil released(nb::find(self));
              blocks = self.source->ListBlocks(shard);
            }
            return Unwrap(std::move(blocks)).count;
          },
          nb::arg("shard"), "Row groups, record batches or chunks of lines of a shard.");

  m.def(
      "make_source",
      [](const PyFileListing& files, const std::string& format, nb::object options) {
        const nlohmann::json given = JsonFromPython(options, "options");
        return PySource{Unwrap(source::MakeSource(format, files.files, given))};
      },
      nb::arg("files"), nb::arg("format"), nb::arg("options"),
      nb::sig("def make_source(files: FileListing, format: str, options: dict[str, object]) -> "
              "Source"),
      "A source of files of a format; options that are missing have the format's defaults.");
  m.def("concat", &Concat, nb::arg("streams"), nb::arg("shard_names"),
        nb::sig("def concat(streams: collections.abc.Sequence[Stream], shard_names: "
                "collections.abc.Sequence[dict[str, str]]) -> Stream"),
        "Streams one after the other; shard_names has new names for shards of each.");
  m.def(
      "schema_of",
      [](const Stream& stream) {
        PassIterator pass(stream.plan, 0);
        pass.CheckMade();
        return ExportSchema(pass.schema());
      },
      nb::arg("stream"), nb::sig("def schema_of(stream: Stream) -> typing.Any"),
      "The schema of a stream's batches, as a pyarrow.Schema.");
  m.def("python_stream", &PythonStream, nb::arg("open"), nb::arg("shard_names"),
        nb::arg("columns") = nb::none(), nb::arg("schema") = nb::none(),
        nb::arg("description") = nb::dict(), nb::arg("name") = "", nb::arg("start_row") = 0,
        nb::arg("shuffle") = nb::none(), nb::arg("seed") = 0, nb::arg("window_bytes") = nb::none(),
        nb::arg("num_rows") = nb::none(),
        nb::sig("def python_stream(open: collections.abc.Callable[..., "
                "collections.abc.Iterable[object]], shard_names: collections.abc.Sequence[str], "
                "columns: dict[str, str] | None = None, schema: object | None = None, description: "
                "dict[str, object] = {}, name: str = '', start_row: int = 0, shuffle: str | None "
                "= None, seed: int = 0, window_bytes: int | None = None, num_rows: int | None = "
                "None) -> Stream"),
        "A stream of what open(shard name, row) yields: rows as dicts, or Arrow record batches. "
        "`num_rows`: of the only shard, any row of which is at hand.");

  m.def("check_shuffle", &CheckShuffle, nb::arg("mode").none(), nb::arg("seed").none(),
        nb::arg("window_bytes").none(),
        nb::sig("def check_shuffle(mode: str, seed: int, window_bytes: int | None) -> None"),
        "Raises TypeError or ValueError for what source.shuffle() cannot do.");

  nb::class_<RowIterator> rows(m, "RowIterator", "Rows of a stream as dicts.");
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
  reinterpret_cast<PyTypeObject*>(rows.ptr())->tp_iternext = &NextRow;
  nb::class_<BatchIterator>(m, "BatchIterator", "Batches of a stream as pyarrow record batches.")
      .def("__iter__", &Self, nb::sig("def __iter__(self) -> BatchIterator"))
      .def("__next__", &BatchIterator::Next)
      .def("close", &BatchIterator::Close);
  m.def(
      "iterate_rows",
      [](const Stream& stream, int64_t epoch, bool ahead) {
        return new RowIterator(stream.plan, epoch, ahead);
      },
      nb::arg("stream"), nb::arg("epoch") = 0, nb::arg("ahead") = true,
      "One pass over a stream, row by row. For a look at the first rows, `ahead=False` reads no "
      "further than it must.");
  m.def(
      "iterate_batches",
      [](const Stream& stream, int64_t epoch) { return new BatchIterator(stream.plan, epoch); },
      nb::arg("stream"), nb::arg("epoch") = 0, "One pass over a stream, batch by batch.");
}

}  // namespace easydata
