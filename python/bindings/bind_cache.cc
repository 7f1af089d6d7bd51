#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bind_options.h"
#include "bindings.h"
#include "bound_token_store.h"
#include "easydata/cache/token_store.h"
#include "easydata/exec/stop_scope.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "option_value.h"
#include "py_source.h"

namespace easydata {
namespace {

/// A number that is not negative, or none.
std::optional<int64_t> BoundOption(const char* name, nb::handle value) {
  const auto bound = OptionalValue<int64_t>(name, value);
  if (bound.has_value() && *bound < 0) {
    RefuseRange(name, "0", std::to_string(std::numeric_limits<int64_t>::max()), value);
  }
  return bound;
}

using Folder = Given<std::string>;

nb::typed<nb::list, Row> StoredPlans(Folder folder, nb::handle storage_options) {
  const std::string path = PathOption(folder);
  const auto storage = StorageFromPython(storage_options);
  return DictsOf(Unwrap(WhileOthersRun([&] { return cache::ListStore(path, storage); })));
}

std::vector<std::pair<std::string, std::string>> StoreProblems(Folder folder,
                                                               nb::handle storage_options) {
  const std::string path = PathOption(folder);
  const auto storage = StorageFromPython(storage_options);
  std::vector<std::pair<std::string, std::string>> out;
  for (cache::StoreProblem& problem : Unwrap(WhileOthersRun(
           [&] { return cache::VerifyStore(path, storage, exec::StopScope::Interrupted); }))) {
    out.emplace_back(std::move(problem.file), std::move(problem.what));
  }
  return out;
}

int64_t PrunedBytes(Folder folder, Given<int64_t> max_bytes, Given<int64_t> older_than_seconds) {
  const std::string path = PathOption(folder);
  const auto most = BoundOption("max_bytes", max_bytes);
  const auto older = BoundOption("older_than_seconds", older_than_seconds);
  return Unwrap(WhileOthersRun([&] { return cache::PruneStore(path, most, older); }));
}

}  // namespace

void BindCache(nb::module_& m) {
  BindPlain<BoundTokenStore>(m, "TokenStore", "Keeps blocks of tokens in a folder, or in memory.")
      .def(
          "__init__",
          [](BoundTokenStore* self, Folder folder, Given<int64_t> max_bytes,
             Given<int64_t> expiry_seconds, const std::string& compression, int64_t memory_blocks,
             nb::handle storage_options) {
            cache::TokenStoreOptions options;
            options.max_bytes = BoundOption("max_bytes", max_bytes);
            options.expiry_seconds = BoundOption("expiry_seconds", expiry_seconds);
            options.compression = ChoiceOf<cache::Compression>("compression", compression);
            options.memory_blocks = memory_blocks;
            const std::string path = PathOption(folder);
            const auto storage = StorageFromPython(storage_options);
            new (self) BoundTokenStore(Unwrap(
                WhileOthersRun([&] { return cache::TokenStore::Open(path, options, storage); })));
          },
          nb::arg("folder"), nb::kw_only(), nb::arg("max_bytes").none() = nb::none(),
          nb::arg("expiry_seconds").none() = nb::none(), nb::arg("compression") = "none",
          nb::arg("memory_blocks") = 0, nb::arg("storage_options").none() = nb::none(),
          "Opens the store of a folder, which is made where it is not there; \"\": in memory "
          "alone.")
      .def(
          "flush",
          [](const BoundTokenStore& self) {
            Check(WhileOthersRun([&] { return self.store->Flush(); }));
          },
          "Waits until what was put is written, or dropped.")
      .def(
          "stats",
          [](const BoundTokenStore& self) { return DictOf<int64_t>(self.store->stats().ToJson()); },
          "What it has done since it was opened.");
  m.def("list_store", &StoredPlans, nb::arg("folder"), nb::kw_only(),
        nb::arg("storage_options").none() = nb::none(),
        "The plans that a store has blocks of, those used last first.");
  m.def("verify_store", &StoreProblems, nb::arg("folder"), nb::kw_only(),
        nb::arg("storage_options").none() = nb::none(),
        "Reads all of a store: names of damaged files, with what is wrong.");
  m.def("prune_store", &PrunedBytes, nb::arg("folder"), nb::kw_only(),
        nb::arg("max_bytes").none() = nb::none(), nb::arg("older_than_seconds").none() = nb::none(),
        "Removes files of a store, those first that were used longest ago: bytes that were freed.");
  // Before the interpreter waits for what runs, and the engine's threads end.
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { WhileOthersRun([] { cache::FlushOpenStores(); }); }));
}

}  // namespace easydata
