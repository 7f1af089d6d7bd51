#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "bindings.h"
#include "easydata/mix/mix_order.h"
#include "easydata/mix/mix_stage.h"

namespace easydata {
namespace {

/// The weights of a mix: by name, by step, or equal where both are missing.
MixOptions MakeOptions(std::vector<std::string> names, std::vector<double> weights,
                       const WeightSchedule* schedule, int64_t block_size, uint64_t seed,
                       const std::string& stop_strategy,
                       const std::vector<std::pair<int64_t, int64_t>>& batch_sizes,
                       int64_t row_tokens, const std::string& unit, const std::string& order) {
  MixOptions options;
  options.order = Unwrap(ParseMixOrderKind(order));
  options.unit = Unwrap(ParseMixUnit(unit));
  options.names = std::move(names);
  options.weights = std::move(weights);
  if (schedule != nullptr) options.schedule = *schedule;
  options.block_size = block_size;
  options.seed = seed;
  options.stop = Unwrap(ParseStopStrategy(stop_strategy));
  for (const auto& [step, size] : batch_sizes) options.clock.batch_sizes.push_back({step, size});
  options.clock.row_tokens = row_tokens;
  return options;
}

}  // namespace

void BindMix(nb::module_& m) {
  nb::class_<WeightSchedule>(m, "WeightSchedule", "Mixing weights as a function of the step.")
      .def(
          "__init__",
          [](WeightSchedule* self, std::vector<std::string> names,
             const std::vector<std::pair<int64_t, std::vector<double>>>& points,
             const std::string& interpolation) {
            std::vector<WeightPoint> list;
            for (const auto& [step, weights] : points) list.push_back({step, weights});
            new (self) WeightSchedule(Unwrap(WeightSchedule::Make(
                std::move(names), std::move(list), Unwrap(ParseInterpolation(interpolation)))));
          },
          nb::arg("names"), nb::arg("points"), nb::arg("interpolation") = "step")
      .def("at", &WeightSchedule::At, nb::arg("step"), "The weights at a step; their sum is 1.")
      .def_prop_ro("names", &WeightSchedule::names);

  nb::class_<MixOrder>(m, "MixOrder", "Which source each example of a mix comes from.")
      .def(
          "__init__",
          [](MixOrder* self, std::vector<std::string> names, std::vector<double> weights,
             const WeightSchedule* schedule, int64_t block_size, uint64_t seed,
             const std::string& stop_strategy,
             const std::vector<std::pair<int64_t, int64_t>>& batch_sizes, const std::string& unit,
             const std::string& order) {
            new (self) MixOrder(Unwrap(MixOrder::Make(
                MakeOptions(std::move(names), std::move(weights), schedule, block_size, seed,
                            stop_strategy, batch_sizes, 0, unit, order))));
          },
          nb::arg("names"), nb::arg("weights"), nb::arg("schedule").none(), nb::arg("block_size"),
          nb::arg("seed"), nb::arg("stop_strategy"), nb::arg("batch_sizes"),
          nb::arg("unit") = "examples", nb::arg("order") = "blocks")
      .def(
          "next_block",
          [](MixOrder& self) {
            self.StartBlock(0);
            self.EndBlock();
            return self.order();
          },
          "The sources of the next block's examples, by their places among the names.")
      .def(
          "seek", [](MixOrder& self, int64_t n) { return Unwrap(self.Seek(n)); }, nb::arg("n"),
          "Goes to example n; returns by source the examples before it.")
      .def("wanted", &MixOrder::Wanted, nb::arg("source"),
           "Whether the source's weight is ever more than 0.");

  m.def(
      "mix",
      [](const std::vector<const Stream*>& streams, std::vector<std::string> names,
         std::vector<double> weights, const WeightSchedule* schedule, int64_t block_size,
         uint64_t seed, const std::string& stop_strategy, bool add_source,
         const std::vector<std::pair<int64_t, int64_t>>& batch_sizes, int64_t row_tokens,
         const std::string& token_column, const std::string& unit, const std::string& order) {
        MixOptions options = MakeOptions(std::move(names), std::move(weights), schedule, block_size,
                                         seed, stop_strategy, batch_sizes, row_tokens, unit, order);
        options.add_source = add_source;
        options.token_column = token_column;
        std::vector<StreamPlan> plans;
        for (const Stream* stream : streams) plans.push_back(stream->plan);
        return Stream{Unwrap(MixPlan(plans, options))};
      },
      nb::arg("streams"), nb::arg("names"), nb::arg("weights"),
      nb::arg("schedule").none() = nb::none(), nb::arg("block_size") = 1000, nb::arg("seed") = 0,
      nb::arg("stop_strategy") = "restart", nb::arg("add_source") = true,
      nb::arg("batch_sizes") = std::vector<std::pair<int64_t, int64_t>>(),
      nb::arg("row_tokens") = 0, nb::arg("token_column") = "input_ids",
      nb::arg("unit") = "examples", nb::arg("order") = "blocks",
      "Mixes streams block by block. `batch_sizes` = [(from step, rows)] and `row_tokens` make the "
      "clock that a schedule is read by; without them it counts examples. `unit` is what weights "
      "are "
      "shares of: \"examples\" or \"tokens\", the values of `token_column`. `order` is \"blocks\" "
      "or "
      "\"grain\", that of Grain's mix.");
}

}  // namespace easydata
