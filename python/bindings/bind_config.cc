#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "bound_stream.h"
#include "easydata/base/nearest_name.h"
#include "easydata/configs/claims.h"
#include "easydata/configs/config_registry.h"
#include "easydata/configs/dataset_config.h"

namespace easydata {
namespace {

using config::Json;

Json Parse(const std::string& text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) Check(Status::Invalid("the options of a config are not JSON: ", text));
  return json;
}

std::vector<std::pair<std::string, std::pair<std::string, std::string>>> ValidateConfig(
    const std::string& name, const std::string& json) {
  using Kind = config::Problem::Kind;
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>> out;
  for (const config::Problem& problem : Unwrap(configs::Validate(name, Parse(json)))) {
    const char* kind = problem.kind == Kind::kStructure ? "structure"
                       : problem.kind == Kind::kValue   ? "value"
                       : problem.kind == Kind::kAdvice  ? "advice"
                                                        : "later";
    out.push_back({kind, {problem.path, problem.ToString()}});
  }
  return out;
}

/// What of a config is set and does nothing, for the rows of datasets: (dataset, stream, whether it
/// is the dataset's alone).
std::vector<std::tuple<bool, std::string, std::string>> IdleOptions(
    const std::string& json, const std::set<std::string>& stages,
    const std::vector<std::tuple<std::string, const Stream*, bool>>& rows) {
  std::vector<configs::DatasetReach> reached;
  for (const auto& [dataset, stream, is_own] : rows) {
    reached.push_back({dataset, [dataset = dataset, stream = stream, is_own = is_own] {
                         auto operators = configs::OperatorsOf(*stream->plan.node, dataset);
                         if (is_own) operators.insert("writer.own");
                         return operators;
                       }});
  }
  std::vector<std::tuple<bool, std::string, std::string>> out;
  for (configs::IdleOption& each : configs::FindIdleOptions(Parse(json), stages, reached)) {
    out.emplace_back(each.is_refused, std::move(each.path), std::move(each.text));
  }
  return out;
}

}  // namespace

void BindConfig(nb::module_& m) {
  m.def(
      "names_hub_dataset",
      [](const std::optional<std::string>& type, const std::vector<std::string>& data_files) {
        return configs::NamesHubDataset(type, data_files);
      },
      nb::arg("type").none(), nb::arg("data_files"),
      "Whether a config names a dataset of the Hugging Face Hub, and not files.");
  m.def(
      "config_descriptors", [] { return config::DescriptorsAsJson(configs::AllConfigs()).dump(); },
      "Every config and its options, as JSON.");
  m.def(
      "option_descriptors", [] { return config::DescriptorsAsJson(configs::AllOptions()).dump(); },
      "The options of what is made without a config, as JSON.");
  m.def("validate_config", &ValidateConfig, nb::arg("name"), nb::arg("json"),
        "Everything that is wrong with a config given as JSON: [(kind, (path, sentence))].");
  m.def(
      "config_hash",
      [](const std::string& name, const std::string& json) {
        return Unwrap(configs::ConfigHash(name, Parse(json)));
      },
      nb::arg("name"), nb::arg("json"),
      "16 hexadecimal digits that are equal for configs that say the same.");
  m.def("idle_options", &IdleOptions, nb::arg("json"), nb::arg("stages"), nb::arg("rows"),
        "The options of a PipelineConfig, given as JSON, that are set and do nothing: [(whether it "
        "is refused, path, why)]. `rows`: (dataset, stream, whether it is of this dataset alone).");
  m.def("config_reference", &configs::ReferencePage,
        "The reference page of all configs, in Markdown.");
  m.def(
      "suggestion",
      [](const std::string& name, const std::vector<std::string>& candidates) {
        return Suggestion(name, candidates);
      },
      nb::arg("name"), nb::arg("candidates"),
      "'; did you mean \"x\"?' for the nearest of the candidates, else a list of them.");
  m.def(
      "did_you_mean", &DidYouMean, nb::arg("wanted"), nb::arg("names"),
      "'; did you mean a or b?' for the nearest one or two of the names, case regarded; else ''.");
}

}  // namespace easydata
