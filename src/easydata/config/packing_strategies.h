#pragma once

#include <string>
#include <vector>

/// Lists the packing strategies in the order of the docs: STRATEGY(Id, "name", "text") for each.
///
/// It is the only list of them. The choices and the text of PackStageConfig::strategy are made of
/// it, and, in pack/packing_strategy.h, the enumerator kId and the declaration of kIdStrategy,
/// which the strategy's own file defines. It stands here because config may not include pack.
#define EASYDATA_PACKING_STRATEGIES(STRATEGY)                                        \
  STRATEGY(Greedy, "greedy", "put documents end to end and cut")                     \
  STRATEGY(Pool, "pool", "the open row that fits best")                              \
  STRATEGY(FirstFit, "first_fit", "longest first, within a window")                  \
  STRATEGY(BestFit, "best_fit", "as first_fit, but into the fullest row that fits")  \
  STRATEGY(GrainFirstFit, "grain_first_fit",                                         \
           "exactly the rows of Grain's FirstFitPackIterDataset, which adds no EOS") \
  STRATEGY(GrainBestFit, "grain_best_fit",                                           \
           "exactly the rows of Grain's BestFitPackIterDataset, which adds no EOS")  \
  STRATEGY(GrainConcat, "grain_concat",                                              \
           "exactly the rows of Grain's ConcatThenSplitIterDataset, which adds no EOS")

namespace easydata::config {

inline std::vector<std::string> PackingStrategyNames() {
#define EASYDATA_NAME(Id, name, text) name,
  return {EASYDATA_PACKING_STRATEGIES(EASYDATA_NAME)};
#undef EASYDATA_NAME
}

/// What the strategies do, in one text.
inline constexpr char kPackingStrategiesText[] = "How rows are filled."
#define EASYDATA_TEXT(Id, name, text) " " name ": " text "."
    EASYDATA_PACKING_STRATEGIES(EASYDATA_TEXT);
#undef EASYDATA_TEXT

}  // namespace easydata::config
