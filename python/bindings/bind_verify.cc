#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "background_call.h"
#include "bindings.h"
#include "easydata/verify/verify_output.h"
#include "option_value.h"
#include "py_source.h"

namespace easydata {
namespace {

nb::typed<nb::list, Row> Verify(Given<std::vector<std::string>> data, Given<int64_t> vocab_size,
                                Given<int> num_threads, nb::handle storage_options) {
  verify::VerifyOptions options;
  options.data = PathsOption("data", data);
  options.storage = StorageFromPython(storage_options);
  options.vocab_size = OptionalValue<int64_t>("vocab_size", vocab_size);
  if (options.vocab_size.has_value()) CheckAtLeastOne("vocab_size", *options.vocab_size, "");
  if (const auto threads = OptionalValue<int>("num_threads", num_threads)) {
    CheckAtLeastOne("num_threads", *threads, " (None: one for each core)");
    options.num_threads = *threads;
  }
  verify::Verifier verifier(std::move(options));
  BackgroundCall<std::vector<verify::VerifiedFile>> call([&] { return verifier.Run(); },
                                                         [&] { verifier.Cancel(); });
  while (!call.Wait()) continue;
  return DictsOf(Unwrap(call.Join()));
}

}  // namespace

void BindVerify(nb::module_& m) {
  m.def("verify", &Verify, nb::arg("data"), nb::kw_only(),
        nb::arg("vocab_size").none() = nb::none(), nb::arg("num_threads").none() = nb::none(),
        nb::arg("storage_options").none() = nb::none(),
        "Reads files whole and says what is wrong with each.");
}

}  // namespace easydata
