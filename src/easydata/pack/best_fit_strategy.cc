#include <vector>

#include "easydata/pack/packing_strategy.h"
#include "easydata/pack/window_planner.h"

namespace easydata::pack {
namespace {

/// As first fit, and ends its window where the rows come out fullest.
class BestFitWindow : public CountedPlanner {
 public:
  explicit BestFitWindow(const PackSettings& options)
      : CountedPlanner(options), planner_(options.seq_length) {}

 protected:
  void Put(int64_t document, int64_t length, RowPlan* plan) override { lengths_.push_back(length); }
  int64_t Finish(int64_t documents, bool last, RowPlan* plan) override {
    *plan = last ? planner_.Plan(lengths_) : planner_.PlanFullest(lengths_, &documents);
    lengths_.clear();
    return documents;
  }

 private:
  std::vector<int64_t> lengths_;
  BestFitPlanner planner_;
};

}  // namespace

/// Longest first within a window, into the fullest row with enough space.
constinit const PackingStrategy kBestFitStrategy = {.make_planner = &MakePlanner<BestFitWindow>,
                                                    .uses_window = true};

}  // namespace easydata::pack
