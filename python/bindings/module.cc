#include <nanobind/nanobind.h>

#include "bindings.h"
#include "easydata/base/version.h"

// While the rooms are being built side by side, areas that are not there yet are left out.
namespace easydata {
#define EASYDATA_OPTIONAL(name) __attribute__((weak)) void name(nb::module_& m)
EASYDATA_OPTIONAL(BindConfig);
EASYDATA_OPTIONAL(BindTokenizer);
EASYDATA_OPTIONAL(BindSource);
EASYDATA_OPTIONAL(BindTransform);
EASYDATA_OPTIONAL(BindOrder);
EASYDATA_OPTIONAL(BindMix);
EASYDATA_OPTIONAL(BindPack);
EASYDATA_OPTIONAL(BindLoader);
EASYDATA_OPTIONAL(BindSink);
}  // namespace easydata

NB_MODULE(_native, m) {
  m.doc() = "The engine of EasyData. Private: what users need is in the package `easydata`.";
  // A stream that runs a script's function, and that the script keeps in a global, lives until the
  // process ends.
  easydata::nb::set_leak_warnings(false);
  m.attr("__version__") = easydata::Version();
  easydata::BindStatus(m);
  easydata::BindStream(m);
  using easydata::nb::module_;
  // Before what takes its types as arguments.
  for (auto bind : {easydata::BindConfig, easydata::BindTokenizer, easydata::BindSource,
                    easydata::BindTransform, easydata::BindOrder, easydata::BindMix,
                    easydata::BindPack, easydata::BindLoader, easydata::BindSink}) {
    if (bind != nullptr) bind(m);
  }
}
