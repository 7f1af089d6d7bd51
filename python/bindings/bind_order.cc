#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <arrow/record_batch.h>

#include <numeric>

#include "bindings.h"
#include "bound_stream.h"
#include "easydata/base/random.h"
#include "easydata/order/permutation.h"
#include "easydata/order/repeat_stage.h"
#include "easydata/order/window_shuffle_stage.h"
#include "easydata/source/grain_order_stage.h"
#include "easydata/source/read_order.h"
#include "easydata/source/source_stage.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/transform/part_rows.h"
#include "operators/arrow_exchange.h"
#include "operators/bound_type.h"
#include "operators/engine_gil.h"
#include "py_source.h"

namespace easydata {
namespace {

using IndexArray = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;

IndexArray ToNumpy(std::vector<int64_t> indices) {
  auto* held = new std::vector<int64_t>(std::move(indices));
  nb::capsule owner(held,
                    [](void* data) noexcept { delete static_cast<std::vector<int64_t>*>(data); });
  return IndexArray(held->data(), {held->size()}, owner);
}

source::Blocks BlocksOf(const PySource& self, size_t shard, bool count) {
  return Unwrap(WhileOthersRun(nb::find(self), [&] {
    return count ? self.source->CountBlocks(shard, {SharedPool(), [](int64_t) {}})
                 : self.source->ListBlocks(shard);
  }));
}

using BlockNumbers = std::vector<std::pair<int64_t, int64_t>>;

Result<BlockNumbers> ReadOrderOf(const PySource& self, uint64_t seed, int64_t epoch) {
  std::vector<size_t> shards(self.source->shard_names().size());
  std::iota(shards.begin(), shards.end(), size_t{0});
  StageContext context;
  context.epoch = epoch;
  const auto order =
      source::InBlockOrder(self.source, shards, seed, source::OnError::kRaise, context);
  BlockNumbers out;
  for (;;) {
    ARROW_ASSIGN_OR_RAISE(const auto part, order->Next());
    if (!part.has_value()) return out;
    out.emplace_back(part->shard, part->from.at);
  }
}

void BindReadOrder(nb::module_& m) {
  BindPlain<source::Blocks>(m, "Blocks", "What a shard is made of; see Source::ListBlocks.")
      .def_ro("count", &source::Blocks::count)
      .def_ro("row_starts", &source::Blocks::row_starts)
      .def_ro("bytes", &source::Blocks::bytes);
  m.def("blocks_of", &BlocksOf, nb::arg("source"), nb::arg("shard"), nb::arg("count") = false,
        "The blocks of a shard; with `count`, rows are counted where the file does not say.");
  m.def(
      "block_order",
      [](const PySource& source, uint64_t seed, int64_t epoch) {
        return Unwrap(
            WhileOthersRun(nb::find(source), [&] { return ReadOrderOf(source, seed, epoch); }));
      },
      nb::arg("source"), nb::arg("seed"), nb::arg("epoch"),
      "(shard, block) in the order in which a pass over shuffled blocks reads them.");
  m.def(
      "content_bytes",
      [](nb::handle batch) { return ToNumpy(ContentBytesByRow(*Unwrap(ImportBatch(batch)))); },
      nb::arg("batch"), "Bytes of content of each row of a pyarrow.RecordBatch, as windows count.");
  m.def(
      "shuffle_limits",
      [] {
        nb::typed<nb::dict, nb::str, int64_t> out;
        out["rows_window_bytes"] = source::SourceShuffleOptions::kDefaultWindowBytes;
        out["window_bytes"] = order::WindowShuffleOptions().bytes;
        out["grain_cache_bytes"] = source::GrainOrderOptions().cache_bytes;
        out["grain_rows_at_once"] = source::GrainOrderOptions().rows_per_batch;
        return out;
      },
      "What shuffles hold unless told otherwise: bytes of a window of \"rows\" and of other "
      "windows, bytes and rows that \"grain\" keeps and gathers at once.");
}

}  // namespace

void BindOrder(nb::module_& m) {
  BindReadOrder(m);
  m.def(
      "part_numbers",
      [](int64_t num_rows, const transform::PartOptions& options) {
        std::vector<int64_t> numbers;
        if (num_rows > 0) {
          const transform::CountedParts parts(options, num_rows);
          for (int64_t row = 0; row < num_rows; ++row) {
            if (parts.Has(row)) numbers.push_back(row);
          }
        }
        return ToNumpy(std::move(numbers));
      },
      nb::arg("num_rows"), nb::arg("options"), "Which of counted rows are in a part, in order.");
  m.def(
      "shuffle_window",
      [](const Stream& stream, int64_t rows, uint64_t seed, const std::string& key) {
        order::WindowShuffleOptions options;
        options.rows = rows;
        options.seed = seed;
        return Stream{Unwrap(order::WindowShufflePlan(stream.plan, options, key)), stream.owned};
      },
      nb::arg("stream"), nb::arg("rows"), nb::arg("seed") = 0, nb::arg("key") = "shuffle",
      "Permutes rows within windows of `rows` rows, or of the bytes that one may take, by (seed, "
      "epoch, window).");
  m.def(
      "repeat",
      [](const Stream& stream, std::optional<int64_t> passes) {
        return Stream{Unwrap(order::RepeatPlan(stream.plan, passes)), stream.owned};
      },
      nb::arg("stream"), nb::arg("passes").none() = nb::none(),
      "Passes over a stream, one after the other; for ever where `passes` is None.");
  m.def(
      "window_order",
      [](uint64_t seed, uint64_t epoch, uint64_t window, int64_t size) {
        return ToNumpy(WindowOrder(seed, epoch, window, size));
      },
      nb::arg("seed"), nb::arg("epoch"), nb::arg("window"), nb::arg("size"),
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
        if (!items.empty()) order::Permutation(size, {seed, epoch}).Fill(begin, items);
        return items;
      },
      nb::arg("size"), nb::arg("seed"), nb::arg("epoch"), nb::arg("begin"), nb::arg("end"),
      "What indices `begin` to `end` of the order of (seed, epoch) of range(size) hold.");
  m.def(
      "share_of_rows",
      [](int64_t num_rows, int64_t part, int64_t parts) {
        const auto range = source::RowShare{num_rows, part, parts}.Of(num_rows);
        return std::pair(range.begin, range.end);
      },
      nb::arg("num_rows"), nb::arg("part"), nb::arg("parts"),
      "The rows [begin, end) of a host's share of a dataset: RowShare::Of().");
  m.def(
      "grain_permuted",
      [](uint64_t size, uint64_t seed, uint64_t epoch, uint64_t begin, uint64_t end) {
        std::vector<uint64_t> items;
        if (begin == end) return items;
        const order::GrainIndexShuffle order(size, static_cast<uint32_t>(seed + epoch));
        for (uint64_t index = begin; index < end; ++index) items.push_back(order[index]);
        return items;
      },
      nb::arg("size"), nb::arg("seed"), nb::arg("epoch"), nb::arg("begin"), nb::arg("end"),
      "The same of Grain's MapDataset.range(size).shuffle(seed).");
}

}  // namespace easydata
