#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind_options.h"
#include "bindings.h"
#include "bound_token_store.h"
#include "easydata/base/hash.h"
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

std::string PlanHash(const BlockKey::Hash& hash) { return ToHex(hash[0]) + ToHex(hash[1]); }

BlockKey::Hash PlanFromHex(std::string_view text) {
  BlockKey::Hash hash = {};
  bool is_hash = text.size() == 32;
  for (size_t i = 0; is_hash && i < hash.size(); ++i) {
    const char* const end = text.data() + 16 * (i + 1);
    const auto read = std::from_chars(end - 16, end, hash[i], 16);
    is_hash = read.ec == std::errc() && read.ptr == end;
  }
  if (!is_hash) throw nb::value_error("plan: must be 32 hexadecimal digits");
  return hash;
}

nb::typed<nb::dict, nb::str, int64_t> StatsAsDict(const cache::TokenStoreStats& stats) {
  nb::dict out;
  out["hits"] = stats.hits;
  out["misses"] = stats.misses;
  out["hit_bytes"] = stats.hit_bytes;
  out["written_blocks"] = stats.written_blocks;
  out["written_bytes"] = stats.written_bytes;
  out["dropped_blocks"] = stats.dropped_blocks;
  out["damaged_blocks"] = stats.damaged_blocks;
  out["evicted_files"] = stats.evicted_files;
  out["waited"] = stats.waited;
  return out;
}

nb::list StoredPlans(nb::handle folder, nb::handle storage_options) {
  const std::string path = PathOption(folder);
  const auto storage = StorageFromPython(storage_options);
  nb::list out;
  for (const cache::StoredPlan& plan :
       Unwrap(WhileOthersRun([&] { return cache::ListStore(path, storage); }))) {
    nb::dict each;
    each["plan"] = PlanHash(plan.plan);
    each["json"] = plan.json;
    each["blocks"] = plan.blocks;
    each["rows"] = plan.rows;
    each["tokens"] = plan.tokens;
    each["bytes"] = plan.bytes;
    each["used_seconds_ago"] = plan.used_seconds_ago;
    out.append(each);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> StoreProblems(nb::handle folder,
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

int64_t PrunedBytes(nb::handle folder, nb::handle max_bytes, nb::handle older_than_seconds) {
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
          [](BoundTokenStore* self, nb::handle folder, nb::handle max_bytes,
             nb::handle expiry_seconds, const std::string& compression, int64_t memory_blocks,
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
          nb::sig(
              "def __init__(self, folder: str, *, max_bytes: int | None = None, "
              "expiry_seconds: int | None = None, compression: str = 'none', memory_blocks: int "
              "= 0, storage_options: object = None) -> None"),
          "Opens the store of a folder, which is made where it is not there; \"\": in memory "
          "alone.")
      .def(
          "flush",
          [](const BoundTokenStore& self) {
            Check(WhileOthersRun([&] { return self.store->Flush(); }));
          },
          "Waits until what was put is written, or dropped.")
      .def(
          "note_plan",
          [](const BoundTokenStore& self, const std::string& plan, const std::string& json) {
            const BlockKey::Hash hash = PlanFromHex(plan);
            WhileOthersRun([&] { self.store->NotePlan(hash, json); });
          },
          nb::arg("plan"), nb::arg("json"), "Keeps what a plan is made of beside its blocks.")
      .def(
          "stats", [](const BoundTokenStore& self) { return StatsAsDict(self.store->stats()); },
          "What it has done since it was opened.");
  m.def("list_store", &StoredPlans, nb::arg("folder"), nb::kw_only(),
        nb::arg("storage_options").none() = nb::none(),
        nb::sig("def list_store(folder: str, *, storage_options: object = None) -> list[dict[str, "
                "typing.Any]]"),
        "The plans that a store has blocks of, those used last first.");
  m.def("verify_store", &StoreProblems, nb::arg("folder"), nb::kw_only(),
        nb::arg("storage_options").none() = nb::none(),
        nb::sig("def verify_store(folder: str, *, storage_options: object = None) -> "
                "list[tuple[str, str]]"),
        "Reads all of a store: names of damaged files, with what is wrong.");
  m.def("prune_store", &PrunedBytes, nb::arg("folder"), nb::kw_only(),
        nb::arg("max_bytes").none() = nb::none(), nb::arg("older_than_seconds").none() = nb::none(),
        nb::sig("def prune_store(folder: str, *, max_bytes: int | None = None, older_than_seconds: "
                "int | None = None) -> int"),
        "Removes files of a store, those first that were used longest ago: bytes that were freed.");
  // Before the interpreter waits for what runs, and the engine's threads end.
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { WhileOthersRun([] { cache::FlushOpenStores(); }); }));
}

}  // namespace easydata
