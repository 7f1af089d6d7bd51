#include <utility>
#include <vector>

#include "easydata/pack/packing_strategy.h"
#include "easydata/pack/window_planner.h"

namespace easydata::pack {
namespace {

/// First fit looks at all lengths of the window before it puts one into a row.
class FirstFitWindow : public CountedPlanner {
 public:
  using CountedPlanner::CountedPlanner;

 protected:
  void Put(int64_t document, int64_t length, RowPlan* plan) override { lengths_.push_back(length); }
  int64_t Finish(int64_t documents, bool last, RowPlan* plan) override {
    *plan = PlanFirstFit(std::exchange(lengths_, {}), options_.seq_length);
    return documents;
  }

 private:
  std::vector<int64_t> lengths_;
};

}  // namespace

/// Longest first within a window, into the first row with enough space.
constinit const PackingStrategy kFirstFitStrategy = {.make_planner = &MakePlanner<FirstFitWindow>,
                                                     .uses_window = true};

}  // namespace easydata::pack
