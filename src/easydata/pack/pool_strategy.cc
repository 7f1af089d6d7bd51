#include "easydata/pack/packing_strategy.h"
#include "easydata/pack/window_planner.h"

namespace easydata::pack {
namespace {

class PoolWindow : public CountedPlanner {
 public:
  explicit PoolWindow(const PackSettings& options)
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

}  // namespace

/// The packer that the document fills best, else packer 0 (EasyDeL's rule).
constinit const PackingStrategy kPoolStrategy = {
    .make_planner = &MakePlanner<PoolWindow>, .uses_num_packers = true, .uses_window = true};

}  // namespace easydata::pack
