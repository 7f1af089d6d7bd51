#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/mix/mix_order.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::mix {

/// Name of the column with the source of each example.
inline constexpr const char kSourceColumn[] = "__source__";

/// Mixes the streams that `sources` make, in the order of a MixOrder; one factory for each name of
/// the options.
///
/// A source that ends is made again with the next epoch, as the stop strategy says. An empty source
/// is an error. Columns are matched by name (UnionSchema); a column `__source__` of the sources'
/// own is replaced where the mix adds its own. `joined` tells the EOS of each source's documents,
/// once the sources are open; null: all have the same.
Result<std::unique_ptr<Stage>> MakeMixStage(
    const std::vector<StageFactory>& sources, const MixSettings& options,
    const StageContext& context,
    const std::function<Result<JoinedVocabularies>()>& joined = nullptr);

/// Mixes the streams. Invalid where one of them counts the steps of a loader: a mix hides them.
Result<StreamPlan> MixPlan(const std::vector<StreamPlan>& sources, const MixOptions& options,
                           const MixWiring& wiring = {});

}  // namespace easydata::mix
