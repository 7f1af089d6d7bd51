#pragma once

/// Lists the packing strategies in the order of the docs: STRATEGY(Id, "name", "text") for each.
///
/// It is the only list of them: it gives the names of the option strategy and their texts, the
/// enumerator kId and the declaration of kIdStrategy, which the strategy's own file defines.
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

namespace easydata::pack {

/// One text for all strategies.
inline constexpr char kPackingStrategiesText[] = "How rows are filled."
#define EASYDATA_TEXT(Id, name, text) " " name ": " text "."
    EASYDATA_PACKING_STRATEGIES(EASYDATA_TEXT);
#undef EASYDATA_TEXT

}  // namespace easydata::pack
