#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "arrow_exchange.h"
#include "bindings.h"
#include "easydata/base/hash.h"
#include "easydata/loader/loader.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/pack/balance_stage.h"
#include "json_values.h"

namespace easydata {
namespace {

using Array = nb::ndarray<nb::numpy, nb::ro>;

// How long a wait goes on before it looks for Ctrl-C.
constexpr double kPollSeconds = 0.05;

nb::dlpack::dtype DtypeOf(const arrow::DataType& type) {
  using Code = nb::dlpack::dtype_code;
  const auto make = [&](Code code, int bits) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  };
  if (type.id() == arrow::Type::BOOL) return make(Code::Bool, 8);
  if (arrow::is_floating(type.id())) return make(Code::Float, type.bit_width());
  return make(arrow::is_signed_integer(type.id()) ? Code::Int : Code::UInt, type.bit_width());
}

/// An array over the engine's own memory, which lives as long as the array does.
nb::object DenseToPython(const LoaderColumn& column) {
  static const uint64_t kNothing = 0;
  auto* owner = new std::shared_ptr<const void>(column.owner);
  nb::capsule capsule(owner, [](void* pointer) noexcept {
    delete static_cast<std::shared_ptr<const void>*>(pointer);
  });
  std::vector<size_t> shape(column.shape.begin(), column.shape.end());
  const void* data = column.data == nullptr ? static_cast<const void*>(&kNothing) : column.data;
  return nb::cast(
      Array(data, shape.size(), shape.data(), capsule, nullptr, DtypeOf(*column.dtype)));
}

template <typename ArrayType>
nb::list StringsToPython(const arrow::Array& array, JsonValues* json) {
  const auto& strings = static_cast<const ArrayType&>(array);
  nb::list out;
  for (int64_t i = 0; i < strings.length(); ++i) {
    if (strings.IsNull(i)) {
      out.append(nb::none());
      continue;
    }
    const std::string_view text = strings.GetView(i);
    PyObject* value =
        json != nullptr
            ? json->Parse(text)
            : PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
    if (value == nullptr) throw nb::python_error();
    out.append(nb::steal(value));
  }
  return out;
}

nb::object ColumnToPython(const LoaderColumn& column, JsonValues* json) {
  if (column.dense()) return DenseToPython(column);
  switch (column.values->type_id()) {
    case arrow::Type::STRING:
      return StringsToPython<arrow::StringArray>(*column.values, column.is_json ? json : nullptr);
    case arrow::Type::LARGE_STRING:
      return StringsToPython<arrow::LargeStringArray>(*column.values, nullptr);
    default:
      return ExportArray(column.values).attr("to_pylist")();
  }
}

/// What Python holds: a loader and what converting its batches needs.
class PyLoader {
 public:
  PyLoader(const Stream& stream, LoaderOptions options)
      : loader_(Unwrap(Loader::Make(stream.plan, std::move(options)))) {}
  ~PyLoader() {
    if (loader_ == nullptr) return;
    // Its threads may need the GIL to end.
    nb::gil_scoped_release release;
    loader_.reset();
  }

  bool Wait(double seconds) {
    nb::gil_scoped_release release;
    return loader_->Wait(seconds);
  }

  nb::object Take() {
    Result<std::optional<LoaderBatch>> taken;
    {
      nb::gil_scoped_release release;
      taken = loader_->Take();
    }
    const auto batch = Unwrap(std::move(taken));
    if (!batch.has_value()) return nb::none();
    return ToPython(*batch);
  }

  /// Holds on to the GIL where a batch is ready: beside a busy thread it takes 5 ms
  /// (sys.getswitchinterval()) to get it back.
  nb::object Next() {
    for (;;) {
      if (auto batch = loader_->TryTake(); batch.has_value()) return ToPython(*batch);
      const bool ready = Wait(kPollSeconds);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!ready) continue;
      if (auto batch = loader_->TryTake(); batch.has_value()) return ToPython(*batch);
      return Take();
    }
  }

  nb::object At(int64_t step) {
    bool raised = false;
    Result<LoaderBatch> batch;
    {
      nb::gil_scoped_release release;
      batch = loader_->At(step, [&raised] {
        nb::gil_scoped_acquire gil;
        raised = PyErr_CheckSignals() != 0;
        return raised;
      });
    }
    if (raised) throw nb::python_error();
    return ToPython(Unwrap(std::move(batch)));
  }

  nb::object State() {
    std::optional<nlohmann::json> state = loader_->TrySaveState();
    if (!state.has_value()) {
      nb::gil_scoped_release release;
      state = loader_->SaveState();
    }
    return JsonToPython(*state);
  }

  void LoadState(nb::handle state, const std::vector<std::string>& allow) {
    const nlohmann::json value = JsonFromPython(state);
    Status status;
    {
      nb::gil_scoped_release release;
      status = loader_->LoadState(value, allow);
    }
    Check(status);
  }

  nb::dict Stats() {
    LoaderStats stats;
    {
      nb::gil_scoped_release release;
      stats = loader_->stats();
    }
    nb::dict wait;
    for (const auto& [stage, seconds] : stats.wait_seconds) wait[stage.c_str()] = seconds;
    nb::dict busy;
    for (const auto& [work, seconds] : stats.busy_seconds) busy[work.c_str()] = seconds;
    nb::dict queue;
    queue["batches"] = stats.queue.batches;
    queue["bytes"] = stats.queue.bytes;
    nb::dict sources;
    for (const auto& [name, counts] : stats.counts.sources()) {
      nb::dict dropped;
      for (const auto& [reason, rows] : counts.dropped) dropped[reason.c_str()] = rows;
      nb::dict source;
      source["tokens"] = counts.tokens;
      source["epoch"] = std::max(stats.epoch, counts.epoch);
      source["dropped"] = dropped;
      sources[name.c_str()] = source;
    }
    nb::dict out;
    out["rows"] = stats.rows;
    out["tokens"] = stats.counts.tokens();
    out["batches"] = stats.batches;
    out["bytes_read"] = stats.bytes_read;
    out["seconds"] = stats.seconds;
    out["wait_seconds"] = wait;
    out["busy_seconds"] = busy;
    out["queue"] = queue;
    out["sources"] = sources;
    return out;
  }

  nb::dict Explain() {
    Bottleneck found;
    {
      nb::gil_scoped_release release;
      found = loader_->Explain();
    }
    nb::dict out;
    out["bottleneck"] =
        found.name.empty() ? nb::object(nb::none()) : nb::object(nb::str(found.name.c_str()));
    out["share"] = found.share;
    out["speedup_if_free"] = found.speedup_if_free;
    out["sentence"] = found.sentence;
    return out;
  }

  std::string Digest() {
    nb::gil_scoped_release release;
    return ToHex(loader_->digest());
  }

  void Close() {
    nb::gil_scoped_release release;
    loader_->Close();
  }

  bool closed() const { return loader_->closed(); }

 private:
  nb::object ToPython(const LoaderBatch& batch) {
    nb::dict out;
    for (const LoaderColumn& column : batch.columns) {
      out[nb::str(column.name.c_str(), column.name.size())] = ColumnToPython(column, &json_);
    }
    return out;
  }

  std::unique_ptr<Loader> loader_;
  JsonValues json_;
};

int64_t WholeNumber(nb::handle value) {
  if (!PyLong_Check(value.ptr())) {
    throw nb::type_error(("batch_rampup: steps and factors must be whole numbers, not " +
                          nb::cast<std::string>(nb::repr(value)))
                             .c_str());
  }
  return nb::cast<int64_t>(value);
}

PadOptions PaddingFromPython(nb::dict padding, std::optional<int64_t> pad_token_id) {
  PadOptions out;
  out.pad_token_id = pad_token_id;
  for (auto [name, spec] : padding) {
    PadSpec& pad = out.columns[nb::cast<std::string>(name)];
    pad.value = nb::cast<double>(spec.attr("value"));
    pad.left = nb::cast<std::string>(spec.attr("side")) == "left";
    const nb::object length = spec.attr("length");
    if (!length.is_none()) pad.length = nb::cast<int64_t>(length);
  }
  return out;
}

}  // namespace

void BindLoader(nb::module_& m) {
  nb::class_<PyLoader>(m, "Loader", "Hands out a stream in steps; see easydata.AsyncDataLoader.")
      .def(
          "__init__",
          [](PyLoader* self, const Stream& stream, int64_t batch_size, bool drop_last, int64_t rank,
             int64_t world_size, int64_t epochs, bool prefetch, int64_t prefetch_batches,
             int num_threads, nb::dict padding, std::optional<int64_t> pad_token_id,
             std::optional<int64_t> shuffle_rows, uint64_t seed, nb::dict batch_rampup,
             int64_t lanes, std::optional<int64_t> steps) {
            LoaderOptions options;
            options.steps.batch_size = batch_size;
            options.steps.drop_last = drop_last;
            options.steps.rank = rank;
            options.steps.world_size = world_size;
            options.steps.lanes = lanes;
            options.steps.passes = epochs;
            options.steps.steps = steps;
            for (auto [step, factor] : batch_rampup) {
              options.steps.rampup[WholeNumber(step)] = WholeNumber(factor);
            }
            options.steps.padding = PaddingFromPython(std::move(padding), pad_token_id);
            options.prefetch = prefetch;
            options.prefetch_batches = prefetch_batches;
            options.num_threads = num_threads;
            Stream source = stream;
            if (shuffle_rows.has_value()) {
              if (IsBalanced(*stream.plan.description)) {
                throw nb::value_error(
                    "shuffle_buffer_size: would shuffle rows behind balance_groups, which puts "
                    "them in order by what they cost; leave it out, and give "
                    "PackedShardedSource(shuffle=True), which shuffles before that");
              }
              WindowShuffleOptions shuffle;
              shuffle.rows = *shuffle_rows;
              shuffle.seed = seed;
              shuffle.rows_per_batch = batch_size;  // a step needs no copy then
              source.plan = Unwrap(WindowShufflePlan(stream.plan, shuffle, "loader.shuffle"));
            }
            new (self) PyLoader(source, std::move(options));
          },
          nb::arg("stream"), nb::kw_only(), nb::arg("batch_size") = 8, nb::arg("drop_last") = true,
          nb::arg("rank") = 0, nb::arg("world_size") = 1, nb::arg("epochs") = 1,
          nb::arg("prefetch") = true, nb::arg("prefetch_batches") = 4, nb::arg("num_threads") = 0,
          nb::arg("padding") = nb::dict(), nb::arg("pad_token_id") = nb::none(),
          nb::arg("shuffle_rows") = nb::none(), nb::arg("seed") = 0,
          nb::arg("batch_rampup") = nb::dict(), nb::arg("lanes") = 1, nb::arg("steps") = nb::none(),
          nb::sig(
              "def __init__(self, stream: Stream, *, batch_size: int = 8, drop_last: bool = True, "
              "rank: int = 0, world_size: int = 1, epochs: int = 1, prefetch: bool = True, "
              "prefetch_batches: int = 4, num_threads: int = 0, padding: dict[str, typing.Any] = "
              "{}, pad_token_id: int | None = None, shuffle_rows: int | None = None, seed: int = "
              "0, batch_rampup: dict[int, int] = {}, lanes: int = 1, steps: int | None = None) -> "
              "None"))
      .def("next", &PyLoader::Next, nb::sig("def next(self) -> dict[str, typing.Any] | None"),
           "The next batch, or None at the end of a pass. Ctrl-C gets through.")
      .def("wait", &PyLoader::Wait, nb::arg("seconds"),
           "Whether take() has something to give, after at most about so many seconds.")
      .def("take", &PyLoader::Take, nb::sig("def take(self) -> dict[str, typing.Any] | None"),
           "The next batch, or None at the end of a pass.")
      .def("at", &PyLoader::At, nb::arg("step"),
           nb::sig("def at(self, step: int) -> dict[str, typing.Any]"),
           "The batch of a step, by a reader of its own. Ctrl-C gets through.")
      .def("state", &PyLoader::State, nb::sig("def state(self) -> dict[str, typing.Any]"))
      .def("load_state", &PyLoader::LoadState, nb::arg("state"),
           nb::arg("allow") = std::vector<std::string>(),
           nb::sig("def load_state(self, state: dict[str, typing.Any], allow: "
                   "collections.abc.Sequence[str] = ()) -> None"))
      .def("stats", &PyLoader::Stats, nb::sig("def stats(self) -> dict[str, typing.Any]"))
      .def("explain", &PyLoader::Explain, nb::sig("def explain(self) -> dict[str, typing.Any]"))
      .def("digest", &PyLoader::Digest)
      .def("close", &PyLoader::Close)
      .def_prop_ro("closed", &PyLoader::closed);
  m.def(
      "merge_states",
      [](const std::vector<nb::object>& states) {
        std::vector<nlohmann::json> values;
        for (const nb::object& state : states) values.push_back(JsonFromPython(state));
        return JsonToPython(Unwrap(MergeStates(values)));
      },
      nb::arg("states"),
      nb::sig("def merge_states(states: collections.abc.Sequence[dict[str, typing.Any]]) -> "
              "dict[str, typing.Any]"),
      "One state of a loader, of those of all ranks; see easydata.merge_states.");
}

}  // namespace easydata
