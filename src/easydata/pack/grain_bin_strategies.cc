#include <memory>
#include <vector>

#include "easydata/pack/grain_row_plan.h"
#include "easydata/pack/packing_strategy.h"
#include "easydata/pack/window_planner.h"

namespace easydata::pack {
namespace {

/// A group of Grain's bins: the document that fits nowhere ends it.
class GrainBinWindow : public WindowPlanner {
 public:
  GrainBinWindow(const PackSettings& options, bool best_fit)
      : options_(options), bins_({best_fit, options.num_packers, {options.seq_length}, {}, 0}) {}

  bool full() const override { return false; }

  Result<bool> Add(int64_t length, RowPlan* plan) override {
    ARROW_ASSIGN_OR_RAISE(bool fits, bins_.Add({&length, 1}));
    if (fits) lengths_.push_back(static_cast<int32_t>(length));
    return fits;
  }

  int64_t Close(int64_t rows_before, bool last, RowPlan* plan) override {
    const GrainBins bins = bins_.Take();
    std::vector<int64_t> order;
    if (options_.shuffle_bins) order = GrainBinOrder(options_.seed, rows_before, bins.num_bins());
    for (int64_t i = 0; i < bins.num_bins(); ++i) {
      const int64_t bin = order.empty() ? i : order[i];
      for (int64_t d = bins.bin_starts[bin]; d < bins.bin_starts[bin + 1]; ++d) {
        plan->pieces.push_back({bins.documents[d], 0, lengths_[bins.documents[d]]});
      }
      plan->CloseRow();
    }
    lengths_.clear();
    return static_cast<int64_t>(bins.documents.size());
  }

 private:
  const PackSettings options_;
  GrainBinPlanner bins_;
  std::vector<int32_t> lengths_;
};

template <bool best_fit>
std::unique_ptr<WindowPlanner> MakeGrainBinWindow(const PackSettings& options) {
  return std::make_unique<GrainBinWindow>(options, best_fit);
}

template <bool best_fit>
constexpr PackingStrategy GrainBinStrategy() {
  return {.make_planner = &MakeGrainBinWindow<best_fit>,
          .adds_eos = false,
          .keeps_documents_whole = true,
          .shuffles_bins = true,
          .uses_num_packers = true};
}

}  // namespace

// As Grain 0.2.18 does it (grain_row_plan.h): documents as they are.
constinit const PackingStrategy kGrainFirstFitStrategy = GrainBinStrategy<false>();
constinit const PackingStrategy kGrainBestFitStrategy = GrainBinStrategy<true>();

}  // namespace easydata::pack
