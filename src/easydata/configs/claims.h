#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "easydata/config/descriptor.h"
#include "easydata/config/problem.h"
#include "easydata/stream/plan.h"

namespace easydata::configs {

/// What the rows of a dataset go through.
struct DatasetReach {
  std::string dataset;
  /// Gives the operators of its plan, as OperatorsOf does; called where an option depends on them.
  std::function<std::set<std::string>()> operators;
};

/// An option that was set and changes nothing.
struct IdleOption {
  /// Whether it is an error: it was meant to do something. Else it is told to those who ask: it
  /// is taken for compatibility, or another option has its say.
  bool is_refused = false;
  /// "datasets[0].max_length"
  std::string path;
  /// Why it changes nothing, and which option would do something.
  std::string text;
};

/// The operators that the rows of `dataset` go through in a plan: their names, and those of the
/// options that they have, as "source.field". Rows of other datasets, which a mix reads beside
/// them, do not count.
std::set<std::string> OperatorsOf(const PlanNode& plan, const std::string& dataset);

/// Finds the options of a pipeline's config that are set and that nobody heeds, by when they say
/// that they act (config::Acting).
///
/// Values equal to the default, and options of stages that the chain does not have, are not
/// judged; nor is an option of a stage or of the pipeline that one of the datasets heeds.
///
/// @param config   A sound PipelineConfig; what is not in it has its default.
/// @param stages   The stages of the chain: "source", "tokenize", ..., of which only those of
///                 "load" and "save" that are run on these plans.
/// @param datasets Of the datasets in `config`, those whose rows come out.
std::vector<IdleOption> FindIdleOptions(const config::Json& config,
                                        const std::set<std::string>& stages,
                                        const std::vector<DatasetReach>& datasets);

}  // namespace easydata::configs
