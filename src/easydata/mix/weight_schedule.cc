#include "easydata/mix/weight_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace easydata::mix {

namespace {

constexpr NamedValue<Interpolation> kInterpolations[] = {
    {"step", Interpolation::kStep},
    {"linear", Interpolation::kLinear},
    {"cosine", Interpolation::kCosine},
};

}  // namespace

std::span<const NamedValue<Interpolation>> NamesOf(Interpolation) { return kInterpolations; }

Status CheckWeights(const std::vector<std::string>& names, const std::vector<double>& weights,
                    const std::string& where) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i])) {
      return Status::Invalid(where, ": the weight of \"", names[i],
                             "\" is not a finite number: ", weights[i]);
    }
    if (weights[i] < 0) {
      return Status::Invalid(where, ": the weight of \"", names[i],
                             "\" is negative; weights are 0 or more: ", weights[i]);
    }
    sum += weights[i];
  }
  if (!(sum > 0) || !std::isfinite(sum)) {
    return Status::Invalid(where, ": the weights must have a positive sum; it is ", sum);
  }
  return Status::OK();
}

std::vector<double> Normalized(std::vector<double> weights) {
  double sum = 0;
  for (double weight : weights) sum += weight;
  for (double& weight : weights) weight /= sum;
  return weights;
}

Result<WeightSchedule> WeightSchedule::Make(std::vector<std::string> names,
                                            std::vector<WeightPoint> points,
                                            Interpolation interpolation) {
  if (points.empty()) return Status::Invalid("a weight schedule needs at least one point");
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  for (size_t i = 0; i < points.size(); ++i) {
    const std::string where = "weight schedule at step " + std::to_string(points[i].step);
    if (points[i].weights.size() != names.size()) {
      return Status::Invalid(where, ": every point must name the same sources; expected ",
                             names.size(), " weights, found ", points[i].weights.size());
    }
    if (i > 0 && points[i].step == points[i - 1].step) {
      return Status::Invalid(where, ": two points have this step; keep one of them");
    }
    ARROW_RETURN_NOT_OK(CheckWeights(names, points[i].weights, where));
  }
  WeightSchedule schedule;
  schedule.names_ = std::move(names);
  schedule.points_ = std::move(points);
  schedule.interpolation_ = interpolation;
  return schedule;
}

std::vector<double> WeightSchedule::At(int64_t step) const {
  if (step <= points_.front().step) return Normalized(points_.front().weights);
  if (step >= points_.back().step) return Normalized(points_.back().weights);
  const auto end = std::upper_bound(points_.begin(), points_.end(), step,
                                    [](int64_t s, const auto& point) { return s < point.step; });
  const auto start = end - 1;
  if (interpolation_ == Interpolation::kStep) return Normalized(start->weights);
  double p = static_cast<double>(step - start->step) / static_cast<double>(end->step - start->step);
  if (interpolation_ == Interpolation::kCosine) p = (1 - std::cos(std::numbers::pi * p)) / 2;
  std::vector<double> weights(names_.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = start->weights[i] + p * (end->weights[i] - start->weights[i]);
  }
  return Normalized(std::move(weights));
}

int64_t StepClock::Step(int64_t examples, int64_t tokens) const {
  if (batch_sizes.empty()) return examples * lanes;
  int64_t units = (row_tokens > 0 ? tokens / row_tokens : examples) * lanes;
  for (size_t i = 0; i < batch_sizes.size(); ++i) {
    const int64_t steps = units / batch_sizes[i].rows;
    const int64_t end =
        i + 1 < batch_sizes.size() ? batch_sizes[i + 1].step : std::numeric_limits<int64_t>::max();
    const int64_t held = end - batch_sizes[i].step;
    if (steps < held) return batch_sizes[i].step + steps;
    units -= held * batch_sizes[i].rows;
  }
  return 0;  // not reached: the last batch size holds for ever
}

}  // namespace easydata::mix
