#include "easydata/pack/packing_strategy.h"

namespace easydata::pack {

constinit const PackingStrategy kGreedyStrategy = {};

/// As Grain's ConcatThenSplit does it (grain_row_plan.h): documents as they are.
constinit const PackingStrategy kGrainConcatStrategy = {.adds_eos = false};

}  // namespace easydata::pack
