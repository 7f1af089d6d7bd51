#include <nanobind/nanobind.h>

#include "bindings.h"
#include "easydata/base/version.h"
#include "operators/fsspec_store.h"
#include "operators/hub_index.h"
#include "operators/lending.h"

NB_MODULE(_native, m) {
  m.doc() = "The engine of EasyData. Private: what users need is in the package `easydata`.";
  // A stream that runs a script's function, and that the script keeps in a global, lives until the
  // process ends.
  easydata::nb::set_leak_warnings(false);
  m.attr("__version__") = easydata::Version();
  easydata::BindStatus(m);
  easydata::BindLending(m);
  easydata::BindStream(m);
  // Before what takes its types as arguments.
  easydata::BindConfig(m);
  easydata::BindTokenizer(m);
  easydata::BindSource(m);
  easydata::BindRecordFile(m);
  easydata::BindCache(m);
  easydata::BindPlan(m);
  easydata::BindChat(m);
  easydata::BindTransform(m);
  easydata::BindTrainer(m);
  easydata::BindOrder(m);
  easydata::BindMix(m);
  easydata::BindPack(m);
  easydata::BindLoader(m);
  easydata::BindSink(m);
  easydata::BindVerify(m);
  easydata::BindKept(m);
  easydata::UseFsspec();
  easydata::UseHuggingFaceHub();
}
