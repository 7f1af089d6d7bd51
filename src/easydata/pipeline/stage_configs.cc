#include "easydata/pipeline/stage_configs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace easydata::pipeline {
namespace {

void CheckWeights(const config::Named<double>& weights, const std::string& path,
                  config::Problems* problems) {
  double sum = 0;
  for (const auto& [name, weight] : weights.values) {
    if (!(weight >= 0)) {
      problems->push_back({config::Problem::Kind::kValue, path + "[\"" + name + "\"]",
                           "must be at least 0, not " + config::Shown(config::Json(weight))});
    }
    sum += weight;
  }
  if (weights.values.empty()) {
    problems->push_back({config::Problem::Kind::kValue, path, "must name at least one dataset"});
  } else if (std::abs(sum - 1) > 1e-6) {
    problems->push_back({config::Problem::Kind::kValue, path,
                         "must sum to 1; they sum to " + config::Shown(config::Json(sum))});
  }
}

/// Adds a problem for each option without a meaning in Grain's order of a mix.
void CheckGrainMix(const MixStageConfig& mix, const std::string& path, config::Problems* problems) {
  if (mix.options.unit == mix::MixUnit::kTokens) {
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, "order"),
         "must be \"blocks\" where unit is \"tokens\": Grain's mix is of examples"});
  }
  if (mix.weight_schedule) {
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, "order"),
         "must be \"blocks\" where there is a weight_schedule: weights of Grain's mix are fixed"});
  }
  if (!mix.weights) return;
  for (const auto& [name, weight] : mix.weights->values) {
    if (weight != 0) continue;
    problems->push_back(
        {config::Problem::Kind::kValue, config::JoinPath(path, "weights") + "[\"" + name + "\"]",
         "must be above 0 where order is \"grain\"; leave the dataset out instead"});
  }
}

}  // namespace

void WeightSchedulePoint::Check(const std::string& path, config::Problems* problems) const {
  CheckWeights(weights, config::JoinPath(path, "weights"), problems);
}

void MixStageConfig::Check(const std::string& path, config::Problems* problems) const {
  if (weights) CheckWeights(*weights, config::JoinPath(path, "weights"), problems);
  if (options.order == mix::MixOrderKind::kGrain) CheckGrainMix(*this, path, problems);
  if (!weight_schedule) return;
  const std::string at = config::JoinPath(path, "weight_schedule");
  if (weight_schedule->empty())
    problems->push_back({config::Problem::Kind::kValue, at, "must have at least one point"});
  for (size_t i = 1; i < weight_schedule->size(); ++i) {
    const auto& first = (*weight_schedule)[0].weights.values;
    const auto& other = (*weight_schedule)[i].weights.values;
    auto has = [](const auto& values, const std::string& name) {
      for (const auto& [key, value] : values) {
        if (key == name) return true;
      }
      return false;
    };
    for (const auto& [name, weight] : first) {
      if (!has(other, name)) {
        problems->push_back(
            {config::Problem::Kind::kValue, at + "[" + std::to_string(i) + "].weights",
             "must name the same datasets as the first point; \"" + name + "\" is missing"});
      }
    }
    for (const auto& [name, weight] : other) {
      if (!has(first, name)) {
        problems->push_back(
            {config::Problem::Kind::kValue, at + "[" + std::to_string(i) + "].weights",
             "must name the same datasets as the first point, which has no \"" + name + "\""});
      }
    }
  }
}

void LoadStageConfig::Check(const std::string& path, config::Problems* problems) const {
  options.Check(path, problems);
}

void CheckCodec(const std::string& format, const std::string& compression, const std::string& path,
                config::Problems* problems) {
  const auto& known = sink::CompressionsOf(format);
  if (compression.empty() || std::find(known.begin(), known.end(), compression) != known.end()) {
    return;
  }
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  problems->push_back(
      {config::Problem::Kind::kValue, path,
       "must be one of " + names + " for " + format + " files, not \"" + compression + "\""});
}

void SaveStageConfig::Check(const std::string& path, config::Problems* problems) const {
  CheckWrittenPlace(output_dir, config::JoinPath(path, "output_dir"), problems);
  if (storage_options) {
    CheckStorageOptions(*storage_options, config::JoinPath(path, "storage_options"), problems);
  }
  CheckCodec(options.format, options.compression, config::JoinPath(path, "compression"), problems);
  options.Check(path, problems);
}

}  // namespace easydata::pipeline
