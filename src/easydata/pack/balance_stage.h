#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::pack {

struct BalanceOptions {
  /// Contiguous parts of a step that are to cost the same.
  int64_t groups = 1;
  /// As Demand::step_rows has them.
  std::vector<Demand::StepRows> batch_sizes;

  /// Invalid where the groups do not divide a step.
  Status Validate() const;
  /// The options of one of `lanes` lanes: its part of the groups and of the rows. Invalid where the
  /// lanes do not divide the groups.
  Result<BalanceOptions> OfLane(int64_t lanes) const;
};

/// Distributes rows of the given costs to `groups` groups of as many rows each, so that the groups'
/// sums are nearly equal: the costliest first to the lightest group that is not full (longest
/// processing time, Graham 1969), then the exchange between the heaviest and the lightest that
/// evens them most, as long as there is one. Returns rows by group, within a group in their order.
std::vector<int64_t> BalancedOrder(const std::vector<uint64_t>& costs, int64_t groups);

/// Orders packed rows within each step so that the `groups` contiguous parts of the step cost about
/// the same, the cost of a row being the sum of its segments' squared lengths: the cost of
/// attention. A step has the same rows as before; a last one that is not full keeps its order.
///
/// Gives one batch a step. Its cursor is the upstream's before the first row that was not given
/// out, and the number of the step.
Result<std::unique_ptr<Stage>> MakeBalanceStage(std::unique_ptr<Stage> upstream,
                                                const BalanceOptions& options);

/// Balances `upstream` for the steps of its consumer (Demand::step_rows); for one without steps its
/// stages cannot be made.
StreamPlan BalancePlan(const StreamPlan& upstream, int64_t groups);

}  // namespace easydata::pack
