#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "bind_options.h"
#include "bindings.h"
#include "bound_stream.h"
#include "easydata/base/hash.h"
#include "easydata/exec/exception_status.h"
#include "easydata/loader/loader.h"
#include "easydata/plan/load_plan.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "operators/json_objects.h"
#include "operators/json_values.h"
#include "operators/rows.h"
#include "option_value.h"

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
nb::object DenseToPython(const loader::LoaderColumn& column) {
  EnsureNumpy();
  static const uint64_t kNothing = 0;
  auto* buffer = new std::shared_ptr<arrow::Buffer>(column.buffer);
  nb::capsule owner(buffer, [](void* pointer) noexcept {
    delete static_cast<std::shared_ptr<arrow::Buffer>*>(pointer);
  });
  std::vector<size_t> shape(column.shape.begin(), column.shape.end());
  const void* data = column.data == nullptr ? static_cast<const void*>(&kNothing) : column.data;
  return nb::cast(Array(data, shape.size(), shape.data(), owner, nullptr, DtypeOf(*column.dtype)));
}

nb::str ColumnName(const loader::LoaderColumn& column) {
  return nb::str(column.name.c_str(), column.name.size());
}

/// What Python holds: a loader and what converting its batches needs.
class PyLoader {
  // Before its callers, as its return type is deduced.
  /// Does what may take long without the GIL; Ctrl-C gets through.
  template <typename Work>
  auto Interruptibly(const Work& work) const {
    bool raised = false;
    const std::function<bool()> stop = [&raised] {
      EngineGil gil;
      if (!gil.held()) return true;
      raised = PyErr_CheckSignals() != 0;
      return raised;
    };
    auto result = WhileOthersRun(nb::find(*this), [&] { return work(stop); });
    if (raised) throw nb::python_error();
    return Unwrap(std::move(result));
  }

 public:
  PyLoader(std::unique_ptr<loader::Loader> loader, Owned owned)
      : owned(std::move(owned)), loader_(std::move(loader)) {}
  ~PyLoader() { Retire(std::move(loader_)); }

  void EndWork() {
    Retire(std::shared_ptr<void>(loader_.get(), [loader = loader_](void*) { loader->Close(); }));
  }

  Owned owned;

  Stream stream() const { return {loader_->plan(), owned}; }

  bool Wait(double seconds, std::optional<int64_t> pass) {
    return WhileOthersRun(nb::find(*this), [&] { return loader_->Wait(seconds, pass); });
  }

  std::optional<Row> Take(std::optional<int64_t> pass) {
    const auto batch = Unwrap(WhileOthersRun(nb::find(*this), [&] { return loader_->Take(pass); }));
    if (!batch.has_value()) return std::nullopt;
    return ToPython(*batch);
  }

  /// Holds on to the GIL where a batch is ready: beside a busy thread it takes 5 ms
  /// (sys.getswitchinterval()) to get it back.
  std::optional<Row> Next(std::optional<int64_t> pass) {
    for (;;) {
      if (auto batch = loader_->TryTake(pass); batch.has_value()) return ToPython(*batch);
      const bool ready = Wait(kPollSeconds, pass);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!ready) continue;
      if (auto batch = loader_->TryTake(pass); batch.has_value()) return ToPython(*batch);
      return Take(pass);
    }
  }

  std::optional<Row> Peek(const std::vector<std::string>& columns) {
    const auto batch = loader_->TryPeek();
    if (!batch.has_value()) return std::nullopt;
    Row out;
    for (const loader::LoaderColumn& column : batch->columns) {
      const bool wanted = columns.empty() ||
                          std::find(columns.begin(), columns.end(), column.name) != columns.end();
      if (wanted && column.dense()) out[ColumnName(column)] = DenseToPython(column);
    }
    return out;
  }

  int64_t passes_ended() const { return loader_->passes_ended(); }

  Row At(Given<int64_t> number) {
    const auto step = OptionValue<int64_t>("step", number);
    return ToPython(Interruptibly([&](const auto& stop) { return loader_->At(step, stop); }));
  }

  int64_t StepsUpTo(int64_t most) {
    return Interruptibly([&](const auto& stop) { return loader_->StepsUpTo(most, stop); });
  }

  Row State() {
    std::optional<nlohmann::json> state = loader_->TrySaveState();
    if (!state.has_value()) {
      state = WhileOthersRun(nb::find(*this), [&] { return loader_->SaveState(); });
    }
    return DictOf(*state);
  }

  void LoadState(nb::handle state, nb::handle allow) {
    if (!nb::hasattr(state, "keys")) RefuseType("state", "what state_dict() returned", state);
    const nlohmann::json value = JsonFromPython(MappingOption("state", state), "state");
    const std::vector<std::string> names =
        NamesOption("allow", "a collection of names such as (\"mix\",)", allow);
    Check(WhileOthersRun(nb::find(*this), [&] { return loader_->LoadState(value, names); }));
  }

  Row Stats() {
    return DictOf(WhileOthersRun(nb::find(*this), [&] { return loader_->stats().ToJson(); }));
  }

  Row Explain(std::optional<double> training, double elsewhere) {
    return DictOf(WhileOthersRun(nb::find(*this),
                                 [&] { return loader_->Explain(training, elsewhere).ToJson(); }));
  }

  std::string Digest() {
    return WhileOthersRun(nb::find(*this), [&] { return ToHex(loader_->digest()); });
  }

  void Close() {
    WhileOthersRun(nb::find(*this), [&] { loader_->Close(); });
  }

  nb::typed<nb::dict, nb::str, std::tuple<double, nb::str>> Paddings() const {
    nb::dict out;
    for (const auto& [name, padding] : paddings_) {
      const auto side = nb::str(padding.left ? "left" : "right");
      out[nb::str(name.c_str(), name.size())] = nb::make_tuple(padding.value, side);
    }
    return out;
  }

 private:
  Row ToPython(const loader::LoaderBatch& batch) {
    Row out;
    for (const loader::LoaderColumn& column : batch.columns) {
      out[ColumnName(column)] =
          column.dense() ? DenseToPython(column)
                         : ValuesToPython(column.values, column.is_json ? &json_ : nullptr);
      paddings_[column.name] = column.padding;
    }
    return out;
  }

  std::shared_ptr<loader::Loader> loader_;
  JsonValues json_;
  std::map<std::string, loader::Padding> paddings_;  // by column, of the batches so far
};

std::map<std::string, loader::PadSpec> PaddingFromPython(nb::handle padding) {
  std::map<std::string, loader::PadSpec> out;
  const nb::dict given = MappingOption("padding", padding);
  if (given.size() == 0) return out;
  const nb::object type = nb::module_::import_("easydata.execution.collate").attr("PadSpec");
  for (auto [column, spec] : given) {
    const auto name = OptionValue<std::string>("padding, a column", column);
    const std::string option = "padding['" + name + "']";
    if (!nb::isinstance(spec, type)) RefuseType(option, "a PadSpec", spec);
    loader::PadSpec& pad = out[name];
    if (const nb::object value = spec.attr("value"); !value.is_none()) {
      pad.value = OptionValue<double>(option + ".value", value);
    }
    if (const nb::object side = spec.attr("side"); !side.is_none()) {
      pad.left = OptionValue<std::string>(option + ".side", side) == "left";
    }
    const nb::object length = spec.attr("length");
    if (nb::isinstance<nb::tuple>(length)) {
      for (nb::handle each : length) {
        pad.lengths.push_back(OptionValue<int64_t>(option + ".length", each));
      }
    } else if (!length.is_none()) {
      pad.lengths.push_back(OptionValue<int64_t>(option + ".length", length));
    }
  }
  return out;
}

}  // namespace

void BindLoader(nb::module_& m) {
  BindOptions<plan::LoadOptions>(m);
  BindOwner<PyLoader>(m, "Loader", "Hands out a stream in steps; see easydata.AsyncDataLoader.")
      .def(
          "__init__",
          [](PyLoader* self, const Stream& stream, plan::LoadOptions options,
             Given<nb::typed<nb::mapping, nb::str, nb::any>> padding, bool padding_may_miss) {
            loader::PadOptions& pad = options.loader.steps.padding;
            pad.columns = PaddingFromPython(padding);
            pad.may_miss = padding_may_miss;
            // A file may be asked what its tokens are.
            auto made = WhileOthersRun(nb::find(stream), [&] {
              return exec::CatchExceptions(
                  [&] { return plan::MakeLoader(stream.plan, std::move(options)); });
            });
            new (self) PyLoader(Unwrap(std::move(made)), stream.owned);
          },
          nb::arg("stream"), nb::arg("options"), nb::arg("padding").none() = nb::none(),
          nb::arg("padding_may_miss") = false,
          "`padding` has a PadSpec by column; with `padding_may_miss` the stream may be without "
          "some of them.")
      .def("next", &PyLoader::Next, nb::arg("pass_number") = nb::none(),
           "The next batch, or None at the end of a pass. With `pass_number`, what passes_ended "
           "was when somebody began: None, too, where another thread has seen the end. Ctrl-C gets "
           "through.")
      .def_prop_ro("passes_ended", &PyLoader::passes_ended)
      .def("wait", &PyLoader::Wait, nb::arg("seconds"), nb::arg("pass_number") = nb::none(),
           "Whether take() has something to give, after at most about so many seconds.")
      .def("take", &PyLoader::Take, nb::arg("pass_number") = nb::none(),
           "The next batch, or None at the end of a pass; `pass_number` as next() has it.")
      .def("peek", &PyLoader::Peek, nb::arg("columns"),
           "The arrays of the next batch, if it is ready, and of these columns (none named: of "
           "all); the batch is still to come, with the same memory.")
      .def("at", &PyLoader::At, nb::arg("step").none(),
           nb::sig("def at(self, step: int) -> dict[str, typing.Any]"),
           "The batch of a step, by a reader of its own. Ctrl-C gets through.")
      .def("steps_up_to", &PyLoader::StepsUpTo, nb::arg("most"),
           "`most`, or the steps up to the end of the pass where they are fewer; as costly as "
           "at().")
      .def("state", &PyLoader::State)
      .def("load_state", &PyLoader::LoadState, nb::arg("state").none(),
           nb::arg("allow").none() = nb::make_tuple(),
           nb::sig("def load_state(self, state: collections.abc.Mapping[str, typing.Any], allow: "
                   "collections.abc.Collection[str] = ()) -> None"))
      .def_prop_ro("stream", &PyLoader::stream,
                   "What batches are made of, with what the loader itself does.")
      .def("stats", &PyLoader::Stats)
      .def(
          "explain", &PyLoader::Explain, nb::arg("training") = nb::none(),
          nb::arg("elsewhere") = 0.0,
          "What sets the pace. Of one of several loaders: `training`, the seconds of the trainer's "
          "own work, and `elsewhere`, those of waiting for the others.")
      .def("digest", &PyLoader::Digest)
      .def_prop_ro("paddings", &PyLoader::Paddings,
                   "What rows of each column, of the batches so far, are filled up with, and at "
                   "which side.")
      .def("close", &PyLoader::Close);
  m.def(
      "whole_number",
      [](const std::string& name, nb::handle value) { return OptionValue<int64_t>(name, value); },
      nb::arg("name"), nb::arg("value").none(),
      nb::sig("def whole_number(name: str, value: int) -> int"),
      "The value of an option as an int; TypeError names it where that is no whole number.");
  m.def(
      "merge_states",
      [](const std::vector<nb::typed<nb::object, Row>>& states) {
        std::vector<nlohmann::json> values;
        for (const nb::object& state : states) {
          const std::string name = "states[" + std::to_string(values.size()) + "]";
          values.push_back(JsonFromPython(state, name));
        }
        return DictOf(Unwrap(loader::MergeStates(values)));
      },
      nb::arg("states"),
      "One state of a loader, of those of all ranks; see easydata.merge_states.");
}

}  // namespace easydata
