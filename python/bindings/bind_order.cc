#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <numeric>

#include "bindings.h"
#include "easydata/base/random.h"
#include "easydata/order/permutation.h"
#include "easydata/order/repeat_stage.h"
#include "easydata/order/window_shuffle_stage.h"

namespace easydata {

void BindOrder(nb::module_& m) {
  m.def(
      "shuffle_window",
      [](const Stream& stream, int64_t rows, uint64_t seed, const std::string& key, int64_t bytes,
         int64_t rows_per_batch) {
        WindowShuffleOptions options;
        options.rows = rows;
        options.seed = seed;
        if (bytes > 0) options.bytes = bytes;
        if (rows_per_batch > 0) options.rows_per_batch = rows_per_batch;
        return Stream{Unwrap(WindowShufflePlan(stream.plan, options, key))};
      },
      nb::arg("stream"), nb::arg("rows"), nb::arg("seed") = 0, nb::arg("key") = "shuffle",
      nb::arg("bytes") = 0, nb::arg("rows_per_batch") = 0,
      "Permutes rows within windows of `rows` rows or `bytes` bytes, by (seed, epoch, window).");
  m.def(
      "repeat",
      [](const Stream& stream, std::optional<int64_t> passes) {
        return Stream{Unwrap(RepeatPlan(stream.plan, passes))};
      },
      nb::arg("stream"), nb::arg("passes").none() = nb::none(),
      "Passes over a stream, one after the other; for ever where `passes` is None.");
  m.def("window_order", &WindowOrder, nb::arg("seed"), nb::arg("epoch"), nb::arg("window"),
        nb::arg("size"),
        "list(range(size)) as numpy.random.default_rng([seed, epoch, window]) shuffles it.");
  m.def(
      "shuffled",
      [](uint64_t seed, int64_t size) {
        std::vector<int64_t> list(size);
        std::iota(list.begin(), list.end(), 0);
        Pcg64({seed}).ShuffleList(&list);
        return list;
      },
      nb::arg("seed"), nb::arg("size"),
      "list(range(size)) as numpy.random.default_rng(seed) shuffles it.");
  m.def(
      "permuted",
      [](uint64_t size, uint64_t seed, uint64_t epoch, uint64_t begin, uint64_t end) {
        std::vector<uint64_t> items(end - begin);
        if (!items.empty()) Permutation(size, {seed, epoch}).Fill(begin, items);
        return items;
      },
      nb::arg("size"), nb::arg("seed"), nb::arg("epoch"), nb::arg("begin"), nb::arg("end"),
      "What places `begin` to `end` of the order of (seed, epoch) of range(size) hold.");
  m.def(
      "grain_permuted",
      [](uint64_t size, uint64_t seed, uint64_t epoch, uint64_t begin, uint64_t end) {
        std::vector<uint64_t> items;
        if (begin == end) return items;
        const GrainIndexShuffle order(size, static_cast<uint32_t>(seed + epoch));
        for (uint64_t place = begin; place < end; ++place) items.push_back(order[place]);
        return items;
      },
      nb::arg("size"), nb::arg("seed"), nb::arg("epoch"), nb::arg("begin"), nb::arg("end"),
      "The same of Grain's MapDataset.range(size).shuffle(seed).");
}

}  // namespace easydata
