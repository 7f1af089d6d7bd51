#include "easydata/pack/packing_strategy.h"

#include "easydata/pack/pack_options.h"

namespace easydata::pack {
namespace {

#define EASYDATA_NAMED(Id, name, text) {name, PackStrategy::k##Id},
constexpr NamedValue<PackStrategy> kStrategyNames[] = {EASYDATA_PACKING_STRATEGIES(EASYDATA_NAMED)};
#undef EASYDATA_NAMED

#define EASYDATA_VALUE(Id, name, text) PackStrategy::k##Id,
constexpr PackStrategy kAllStrategies[] = {EASYDATA_PACKING_STRATEGIES(EASYDATA_VALUE)};
#undef EASYDATA_VALUE

#define EASYDATA_OBJECT(Id, name, text) &k##Id##Strategy,
constexpr const PackingStrategy* kStrategyObjects[] = {
    EASYDATA_PACKING_STRATEGIES(EASYDATA_OBJECT)};
#undef EASYDATA_OBJECT

}  // namespace

const PackingStrategy& StrategyOf(PackStrategy strategy) {
  return *kStrategyObjects[static_cast<size_t>(strategy)];
}

bool SplitsDocuments(const PackOptions& options) {
  return options.overlong == Overlong::kSplit &&
         !StrategyOf(options.strategy).keeps_documents_whole;
}

std::span<const PackStrategy> AllPackStrategies() { return kAllStrategies; }

std::span<const NamedValue<PackStrategy>> NamesOf(PackStrategy) { return kStrategyNames; }

const char* Name(PackStrategy strategy) { return NameOf(kStrategyNames, strategy); }

}  // namespace easydata::pack
