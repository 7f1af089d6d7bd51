#include "easydata/pack/window_planner.h"

#include <utility>
#include <vector>

#include "easydata/pack/grain_row_plan.h"

namespace easydata {
namespace {

/// A window of options.pack_window documents, or of as many bytes, whichever comes first.
class CountedPlanner : public WindowPlanner {
 public:
  explicit CountedPlanner(const PackOptions& options) : options_(options) {}

  bool full() const final {
    return documents_ >= options_.pack_window || bytes_ >= options_.pack_window_bytes;
  }

  Result<bool> Add(int64_t length, RowPlan* plan) final {
    bytes_ += length * static_cast<int64_t>(sizeof(int32_t));
    Put(documents_++, length, plan);
    return true;
  }

  int64_t Close(int64_t rows_before, bool last, RowPlan* plan) final {
    bytes_ = 0;
    return Finish(std::exchange(documents_, 0), last, plan);
  }

 protected:
  virtual void Put(int64_t document, int64_t length, RowPlan* plan) = 0;
  virtual int64_t Finish(int64_t documents, bool last, RowPlan* plan) = 0;

  const PackOptions options_;

 private:
  int64_t documents_ = 0;
  int64_t bytes_ = 0;
};

class PoolWindow : public CountedPlanner {
 public:
  explicit PoolWindow(const PackOptions& options)
      : CountedPlanner(options), pool_(options.num_packers, options.seq_length) {}

 protected:
  void Put(int64_t document, int64_t length, RowPlan* plan) override {
    pool_.Add(document, length, plan);
  }
  int64_t Finish(int64_t documents, bool last, RowPlan* plan) override {
    pool_.Flush(plan);
    return documents;
  }

 private:
  PoolPlanner pool_;
};

/// First fit looks at all lengths of the window before it places one.
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

/// As first fit, and ends its window where the rows come out fullest.
class BestFitWindow : public CountedPlanner {
 public:
  explicit BestFitWindow(const PackOptions& options)
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

/// A group of Grain's bins: the document that fits nowhere ends it.
class GrainBinWindow : public WindowPlanner {
 public:
  explicit GrainBinWindow(const PackOptions& options)
      : options_(options),
        bins_({options.strategy == PackStrategy::kGrainBestFit,
               options.num_packers,
               {options.seq_length},
               {},
               0}) {}

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
  const PackOptions options_;
  GrainBinPlanner bins_;
  std::vector<int32_t> lengths_;
};

}  // namespace

std::unique_ptr<WindowPlanner> WindowPlanner::Make(const PackOptions& options) {
  switch (options.strategy) {
    case PackStrategy::kPool:
      return std::make_unique<PoolWindow>(options);
    case PackStrategy::kFirstFit:
      return std::make_unique<FirstFitWindow>(options);
    case PackStrategy::kBestFit:
      return std::make_unique<BestFitWindow>(options);
    case PackStrategy::kGrainFirstFit:
    case PackStrategy::kGrainBestFit:
      return std::make_unique<GrainBinWindow>(options);
    case PackStrategy::kGreedy:
    case PackStrategy::kGrainConcat:
      break;
  }
  return nullptr;
}

}  // namespace easydata
