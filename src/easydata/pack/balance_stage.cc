#include "easydata/pack/balance_stage.h"

#include <arrow/record_batch.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "easydata/base/slab_pool.h"
#include "easydata/stream/gather_rows.h"
#include "easydata/stream/no_rows.h"
#include "easydata/stream/row_reader.h"
#include "easydata/stream/stage_timer.h"

namespace easydata::pack {
namespace {

class BalanceStage : public Stage {
 public:
  BalanceStage(std::unique_ptr<Stage> upstream, BalanceOptions options)
      : reader_(std::move(upstream)), options_(std::move(options)) {}

  Result<std::optional<Batch>> Next() override {
    if (cancelled_) return Status::Cancelled("the stream was closed");
    const int64_t wanted = RowsOfStep();
    RowWindow step;
    const auto more = [&step, wanted] { return std::ssize(step.rows) < wanted; };
    while (more() && Hold()) {
      reader_.TakeInto(&step, [&more](int64_t) { return more(); });
    }
    if (step.rows.empty()) {
      ARROW_RETURN_NOT_OK(failed_);
      if (!reader_.has_dropped()) return std::nullopt;
      Batch batch;
      ARROW_ASSIGN_OR_RAISE(batch.rows, NoRows(schema()));
      batch.spans = std::make_shared<SpanTable>();
      batch.dropped = reader_.TakeDropped();
      return batch;
    }
    if (!more()) step.rows = Balanced(step);
    ARROW_ASSIGN_OR_RAISE(Batch batch, GatherRows(step.parts, step.rows, schema(), &slabs_));
    batch.dropped = reader_.TakeDropped();
    batch.watermark.Note(batch.num_rows(), step.watermark);
    ++step_;
    num_rows_ += batch.num_rows();
    return batch;
  }

  Cursor Save() const override {
    return Cursor::Of([next = reader_.Save(), step = step_] {
      nlohmann::json cursor = next.ToJson();
      cursor["step"] = step;
      return cursor;
    });
  }

  Status Restore(const nlohmann::json& cursor) override {
    step_ = cursor.at("step").get<int64_t>();
    return reader_.Restore(ReadPosition::FromJson(cursor));
  }

  void Cancel() override {
    cancelled_ = true;
    reader_.upstream()->Cancel();
  }

  std::shared_ptr<arrow::Schema> schema() const override { return reader_.upstream()->schema(); }

  StageStats stats() const override {
    StageStats stats;
    stats.rows = num_rows_;
    stats.AddUpstream(reader_.upstream()->stats());
    return stats;
  }

 private:
  int64_t RowsOfStep() const {
    int64_t rows = 0;
    for (const auto& [step, size] : options_.batch_sizes) {
      if (step <= step_) rows = size;
    }
    return rows;
  }

  /// Whether there is a row; an error comes after the rows before it, and stays.
  bool Hold() {
    if (!failed_.ok()) return false;
    auto any = reader_.Hold();
    if (any.ok() && *any && reader_.batch().spans == nullptr) {
      any = Status::Invalid("rows can only be balanced by cost once they are packed");
    }
    failed_ = any.status();
    return any.ok() && *any;
  }

  std::vector<RowRef> Balanced(const RowWindow& step) const {
    std::vector<uint64_t> costs;
    costs.reserve(step.rows.size());
    for (const RowRef& row : step.rows) {
      const SpanTable& spans = *step.parts[row.part]->spans;
      uint64_t cost = 0;
      for (int64_t s = spans.row_starts[row.row]; s < spans.row_starts[row.row + 1]; ++s) {
        const auto length = static_cast<uint64_t>(spans.spans[s].length);
        cost += length * length;
      }
      costs.push_back(cost);
    }
    std::vector<RowRef> ordered;
    ordered.reserve(step.rows.size());
    for (int64_t i : BalancedOrder(costs, options_.groups)) ordered.push_back(step.rows[i]);
    return ordered;
  }

  RowReader reader_;
  const BalanceOptions options_;
  SlabPool slabs_;
  int64_t step_ = 0;
  Status failed_;
  int64_t num_rows_ = 0;
  std::atomic<bool> cancelled_{false};
};

/// A group of rows: their numbers by cost, the cheapest first, and the sum.
struct Group {
  std::vector<int64_t> rows;
  uint64_t sum = 0;
};

/// Exchanges the pair of rows that brings the sums of two groups closest; false where none does.
bool Exchange(const std::vector<uint64_t>& costs, Group* heavy, Group* light) {
  const uint64_t gap = heavy->sum - light->sum;
  // Moving d = a - b from one to the other leaves |gap - 2d|: a gain for 0 < d < gap.
  uint64_t best_left = gap;
  size_t best_a = 0, best_b = 0;
  size_t b = 0;
  for (size_t a = 0; a < heavy->rows.size(); ++a) {
    const uint64_t cost = costs[heavy->rows[a]];
    auto left = [&](size_t i) {
      const uint64_t other = costs[light->rows[i]];
      if (other >= cost) return gap;
      const uint64_t twice = 2 * (cost - other);
      return twice > gap ? twice - gap : gap - twice;
    };
    // Both lists ascend, so the best partner moves on with the row.
    while (b + 1 < light->rows.size() && 2 * cost > gap + 2 * costs[light->rows[b]] &&
           left(b + 1) <= left(b)) {
      ++b;
    }
    if (left(b) < best_left) {
      best_left = left(b);
      best_a = a;
      best_b = b;
    }
  }
  if (best_left == gap) return false;
  const int64_t down = heavy->rows[best_a];
  const int64_t up = light->rows[best_b];
  const uint64_t moved = costs[down] - costs[up];
  heavy->sum -= moved;
  light->sum += moved;
  auto cheaper = [&costs](int64_t x, int64_t y) {
    return costs[x] != costs[y] ? costs[x] < costs[y] : x < y;
  };
  auto replace = [&cheaper](std::vector<int64_t>* rows, size_t index, int64_t row) {
    rows->erase(rows->begin() + static_cast<std::ptrdiff_t>(index));
    rows->insert(std::upper_bound(rows->begin(), rows->end(), row, cheaper), row);
  };
  replace(&heavy->rows, best_a, up);
  replace(&light->rows, best_b, down);
  return true;
}

}  // namespace

Status BalanceOptions::Validate() const {
  if (groups < 1) return Status::Invalid("balance_groups must be at least 1; it is ", groups);
  if (batch_sizes.empty() || batch_sizes[0].step != 0) {
    return Status::Invalid("balance_groups needs the rows of a step from step 0 on");
  }
  for (const auto& [step, rows] : batch_sizes) {
    if (rows < 1 || rows % groups != 0) {
      return Status::Invalid(
          "balance_groups must divide the rows of every step into equal groups; choose another "
          "balance_groups or batch_size; ",
          rows, " rows of a step from step ", step, " on are no multiple of ", groups);
    }
  }
  return Status::OK();
}

Result<BalanceOptions> BalanceOptions::OfLane(int64_t lanes) const {
  if (groups % lanes != 0) {
    return Status::Invalid("balance_groups: must be a multiple of lanes, each of which balances ",
                           "its own part of a step; got balance_groups ", groups, " with lanes ",
                           lanes);
  }
  BalanceOptions of_lane = *this;
  of_lane.groups /= lanes;
  for (auto& [step, rows] : of_lane.batch_sizes) rows /= lanes;
  return of_lane;
}

std::vector<int64_t> BalancedOrder(const std::vector<uint64_t>& costs, int64_t groups) {
  std::vector<int64_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&costs](int64_t a, int64_t b) { return costs[a] > costs[b]; });
  const size_t rows_each = costs.size() / static_cast<size_t>(groups);
  std::vector<Group> dealt(groups);
  for (int64_t row : order) {
    Group* lightest = nullptr;
    for (Group& group : dealt) {
      if (group.rows.size() == rows_each) continue;
      if (lightest == nullptr || group.sum < lightest->sum) lightest = &group;
    }
    lightest->rows.push_back(row);
    lightest->sum += costs[row];
  }
  for (Group& group : dealt) std::reverse(group.rows.begin(), group.rows.end());
  auto lighter = [](const Group& a, const Group& b) { return a.sum < b.sum; };
  // Each exchange makes the sum of squares smaller, so this ends; few are needed.
  for (size_t i = 0; i < costs.size(); ++i) {
    auto [light, heavy] = std::minmax_element(dealt.begin(), dealt.end(), lighter);
    if (light == heavy || !Exchange(costs, &*heavy, &*light)) break;
  }
  std::vector<int64_t> balanced;
  balanced.reserve(costs.size());
  for (Group& group : dealt) {
    std::sort(group.rows.begin(), group.rows.end());
    balanced.insert(balanced.end(), group.rows.begin(), group.rows.end());
  }
  return balanced;
}

Result<std::unique_ptr<Stage>> MakeBalanceStage(std::unique_ptr<Stage> upstream,
                                                const BalanceOptions& options) {
  ARROW_RETURN_NOT_OK(options.Validate());
  return std::make_unique<BalanceStage>(std::move(upstream), options);
}

StreamPlan BalancePlan(const StreamPlan& upstream, int64_t groups) {
  auto node = MakeNode("pack.balance", {{"groups", groups}}, upstream);
  node->facts.balance_groups = groups;
  StreamPlan plan;
  plan.node = std::move(node);
  plan.schema = upstream.schema;
  plan.make = [make = upstream.make,
               groups](const StageContext& context) -> Result<std::unique_ptr<Stage>> {
    const BalanceOptions options{groups, context.demand.step_rows};
    if (options.batch_sizes.empty()) {
      return Status::Invalid(
          "balance_groups orders the rows of a loader's step, and no loader takes the packed rows; "
          "leave it at 1 here, or hand them to a loader: ",
          groups);
    }
    ARROW_RETURN_NOT_OK(options.Validate());
    ARROW_ASSIGN_OR_RAISE(auto stage, make(context));
    ARROW_ASSIGN_OR_RAISE(auto of_lane, options.OfLane(context.lanes));
    return Timed(MakeBalanceStage(std::move(stage), of_lane), "balance");
  };
  return plan;
}

}  // namespace easydata::pack
