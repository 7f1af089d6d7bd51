#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>

#include "bindings.h"
#include "bound_stream.h"
#include "easydata/exec/exception_status.h"
#include "easydata/exec/start_thread.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "operators/json_objects.h"
#include "option_value.h"

namespace easydata {

std::shared_ptr<arrow::Schema> SchemaOf(const Stream& stream) {
  return Unwrap(WhileOthersRun(nb::find(stream), [&] {
    return exec::CatchExceptions([&] { return stream.plan.schema(); });
  }));
}

void BindStream(nb::module_& m) {
  BindOwner<Stream>(
      m, "Stream",
      "An immutable recipe for a stream of rows. Sources, transforms, mixes and packers make and "
      "extend it; loaders, writers and iterators run it.")
      .def_prop_ro(
          "description",
          [](const Stream& stream) { return DictOf<nb::object>(Describe(*stream.plan.node)); },
          "What determines the rows that come, as a flat dict. Equal descriptions give equal "
          "streams.")
      .def_prop_ro(
          "has_identity", [](const Stream& stream) { return HasIdentity(*stream.plan.node); },
          "Whether all of it can be recognised in another process: False with a lambda, a closure.")
      .def("__repr__", [](const Stream& stream) {
        return "Stream(" + Describe(*stream.plan.node).dump() + ")";
      });
  m.def("num_threads", &exec::NumThreads,
        "How many of the engine's threads there are. By their names there may be more: a thread "
        "that a library starts on one of ours takes its name over.");
}

}  // namespace easydata
