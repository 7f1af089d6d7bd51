#pragma once

#include <memory>
#include <span>
#include <string>

#include "easydata/base/named_value.h"
#include "easydata/base/status.h"
#include "easydata/pack/packing_strategies.h"

namespace easydata::pack {

struct PackOptions;
struct PackSettings;
class WindowPlanner;

/// Names a packing strategy: kGreedy, kPool and so on, one for each entry of the list.
enum class PackStrategy {
#define EASYDATA_ENUMERATOR(Id, name, text) k##Id,
  EASYDATA_PACKING_STRATEGIES(EASYDATA_ENUMERATOR)
#undef EASYDATA_ENUMERATOR
};

/// Says how documents are put into rows: all that the rest of the module asks of a strategy.
struct PackingStrategy {
  /// Makes what plans the rows, window by window; null where documents are put end to end and cut
  /// at the ends of rows, which needs no plan.
  std::unique_ptr<WindowPlanner> (*make_planner)(const PackSettings& options) = nullptr;
  /// A document that does not end in the EOS gets one.
  bool adds_eos = true;
  /// A document is in one row as a whole: where longer ones would be split, they are errors.
  bool keeps_documents_whole = false;
  /// With PackWiring::shuffle_bins it permutes rows itself, in place of a shuffle downstream.
  bool shuffles_bins = false;
  // The options that its rows depend on, besides those that all strategies have in common.
  bool uses_num_packers = false;
  bool uses_window = false;  // pack_window and pack_window_bytes
};

// kGreedyStrategy, kPoolStrategy and so on, each defined in a file of its own.
#define EASYDATA_DECLARATION(Id, name, text) extern const PackingStrategy k##Id##Strategy;
EASYDATA_PACKING_STRATEGIES(EASYDATA_DECLARATION)
#undef EASYDATA_DECLARATION

const PackingStrategy& StrategyOf(PackStrategy strategy);

/// Whether a document that is longer than a row goes on in the next one.
bool SplitsDocuments(const PackOptions& options);

/// All strategies, in the order of the docs.
std::span<const PackStrategy> AllPackStrategies();

/// The names of the strategies, in the order of the docs.
std::span<const NamedValue<PackStrategy>> NamesOf(PackStrategy);
const char* Name(PackStrategy strategy);

}  // namespace easydata::pack
