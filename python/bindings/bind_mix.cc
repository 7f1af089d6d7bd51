#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>

#include "bind_options.h"
#include "bindings.h"
#include "bound_stream.h"
#include "easydata/mix/mix_order.h"
#include "easydata/mix/mix_stage.h"
#include "operators/bound_type.h"

namespace easydata {
namespace {

/// Weights in the order of the names; none at all for equal ones.
std::vector<double> WeightsFromPython(const std::vector<std::string>& names,
                                      const std::vector<nb::object>& given) {
  std::vector<double> weights;
  for (const nb::object& weight : given) {
    const std::string name = "weights['" + names.at(weights.size()) + "']";
    weights.push_back(OptionValue<double>(name, weight));
  }
  return weights;
}

std::vector<mix::WeightPoint> PointsFromPython(const std::vector<std::string>& names,
                                               const nb::list& points) {
  std::vector<mix::WeightPoint> out;
  for (nb::handle point : points) {
    const auto [step, weights] = nb::cast<std::pair<nb::object, std::vector<nb::object>>>(point);
    out.push_back(
        {OptionValue<int64_t>("a schedule's step", step), WeightsFromPython(names, weights)});
  }
  return out;
}

}  // namespace

void BindMix(nb::module_& m) {
  BindPlain<mix::WeightSchedule>(m, "WeightSchedule", "Mixing weights as a function of the step.")
      .def(
          "__init__",
          [](mix::WeightSchedule* self, std::vector<std::string> names, const nb::list& points,
             nb::handle interpolation) {
            auto list = PointsFromPython(names, points);
            const auto between = ChoiceOf<mix::Interpolation>("interpolation", interpolation);
            new (self) mix::WeightSchedule(
                Unwrap(mix::WeightSchedule::Make(std::move(names), std::move(list), between)));
          },
          nb::arg("names"), nb::arg("points"), nb::arg("interpolation").none() = "step",
          nb::sig("def __init__(self, names: collections.abc.Sequence[str], points: "
                  "list[tuple[int, list[float]]], interpolation: str = 'step') -> None"))
      .def("at", &mix::WeightSchedule::At, nb::arg("step"),
           "The weights at a step; their sum is 1.")
      .def_prop_ro("names", &mix::WeightSchedule::names);

  static const std::string signature =
      SignatureOf(config::ConfigTypeOf<mix::MixOptions>(),
                  "self, names: collections.abc.Sequence[str], weights: "
                  "collections.abc.Sequence[float], schedule: WeightSchedule | None");
  BindPlain<mix::MixOptions>(m, mix::MixOptions::kName, mix::MixOptions::kDoc)
      .def(
          "__init__",
          [](mix::MixOptions* self, std::vector<std::string> names,
             const std::vector<nb::object>& weights, const mix::WeightSchedule* schedule,
             const nb::kwargs& given) {
            auto options = OptionsFromPython<mix::MixOptions>(given);
            options.weights = WeightsFromPython(names, weights);
            options.names = std::move(names);
            if (schedule != nullptr) options.schedule = *schedule;
            new (self) mix::MixOptions(std::move(options));
          },
          nb::arg("names"), nb::arg("weights"), nb::arg("schedule").none(), nb::arg("options"),
          nb::sig(signature.c_str()));

  BindPlain<mix::MixOrder>(m, "MixOrder", "Which source each example of a mix comes from.")
      .def(
          "__init__",
          [](mix::MixOrder* self, const mix::MixOptions& options) {
            new (self) mix::MixOrder(Unwrap(mix::MixOrder::Make({options, {}})));
          },
          nb::arg("options"))
      .def(
          "next_block",
          [](mix::MixOrder& self) {
            self.StartBlock(0);
            self.EndBlock();
            return self.order();
          },
          "The sources of the next block's examples, by their indices among the names.")
      .def(
          "seek", [](mix::MixOrder& self, int64_t n) { return Unwrap(self.Seek(n)); }, nb::arg("n"),
          "Goes to example n; returns by source the examples before it.")
      .def("wanted", &mix::MixOrder::Wanted, nb::arg("source"),
           "Whether the source's weight is ever more than 0.");

  m.def(
      "mix",
      [](const std::vector<const Stream*>& streams, const mix::MixOptions& options,
         bool add_source) {
        mix::MixWiring wiring;
        wiring.add_source = add_source;
        std::vector<StreamPlan> plans;
        Owned owned;
        for (const Stream* stream : streams) {
          plans.push_back(stream->plan);
          owned.Add(stream->owned);
        }
        return Stream{Unwrap(mix::MixPlan(plans, options, wiring)), std::move(owned)};
      },
      nb::arg("streams"), nb::arg("options"), nb::arg("add_source"), "Mixes streams.");
}

}  // namespace easydata
