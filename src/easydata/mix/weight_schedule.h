#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/named_value.h"
#include "easydata/base/status.h"
#include "easydata/stream/stage_context.h"

namespace easydata::mix {

/// How weights go from one point of a schedule to the next.
enum class Interpolation {
  kStep,    // hold the left point
  kLinear,  // a straight line
  kCosine,  // half a cosine wave: slow at both ends
};

std::span<const NamedValue<Interpolation>> NamesOf(Interpolation);

/// The weights that hold at one step, in the order of the schedule's names.
struct WeightPoint {
  int64_t step = 0;
  std::vector<double> weights;
};

/// Mixing weights as a function of the step (EasyDeL's WeightScheduler).
///
/// Before the first point its weights hold, from the last point on those of the last. In between
/// the value is `s + p * (e - s)`, divided by the sum over the sources: the order of these
/// operations is part of the format, since counts are rounded down to whole examples from it.
class WeightSchedule {
 public:
  /// Sorts the points by step. Errors: no point, two of one step, a wrong number of weights,
  /// weights that CheckWeights() refuses.
  static Result<WeightSchedule> Make(std::vector<std::string> names,
                                     std::vector<WeightPoint> points, Interpolation interpolation);

  /// The weights at `step`, in the order of names(); their sum is 1.
  std::vector<double> At(int64_t step) const;

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<WeightPoint>& points() const { return points_; }
  Interpolation interpolation() const { return interpolation_; }

 private:
  std::vector<std::string> names_;
  std::vector<WeightPoint> points_;
  Interpolation interpolation_ = Interpolation::kStep;
};

/// Invalid unless the weights are finite, none is negative and not all are zero; `where` names
/// them.
Status CheckWeights(const std::vector<std::string>& names, const std::vector<double>& weights,
                    const std::string& where);

/// The weights divided by their sum.
std::vector<double> Normalized(std::vector<double> weights);

/// Derives the training step that a mixer is at from what it has given out.
///
/// Without a batch size a step is one example. A packer makes steps of tokens: then `row_tokens` is
/// its row length, and the clock reads tokens / (batch size * row length).
struct StepClock {
  /// As Demand::step_rows has them; empty: count examples.
  std::vector<Demand::StepRows> batch_sizes;
  int64_t row_tokens = 0;
  /// Mixers that run side by side: each is assumed to have given out as much.
  int64_t lanes = 1;

  int64_t Step(int64_t examples, int64_t tokens) const;
};

}  // namespace easydata::mix
