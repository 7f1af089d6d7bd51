#include "easydata/pack/pack_options.h"

#include "easydata/config/descriptor.h"

namespace easydata::pack {

namespace {

constexpr NamedValue<Overlong> kPolicies[] = {
    {"split", Overlong::kSplit},
    {"truncate", Overlong::kTruncate},
    {"drop", Overlong::kDrop},
    {"error", Overlong::kError},
};

/// The names, in quotes, of the strategies that take shuffle_bins.
std::string ShufflersOfBins() {
  std::string names;
  for (const config::Json& name : StrategiesThat(&PackingStrategy::shuffles_bins)) {
    if (!names.empty()) names += " and ";
    names += name.dump();
  }
  return names;
}

}  // namespace

std::vector<config::Json> StrategiesThat(bool PackingStrategy::*has, bool value) {
  std::vector<config::Json> names;
  for (PackStrategy strategy : AllPackStrategies()) {
    if (StrategyOf(strategy).*has == value) names.emplace_back(Name(strategy));
  }
  return names;
}

std::span<const NamedValue<Overlong>> NamesOf(Overlong) { return kPolicies; }

const char* Name(Overlong overlong) { return NameOf(kPolicies, overlong); }

Status PackOptions::Validate() const { return config::CheckOptions(*this); }

Status PackSettings::Validate() const {
  ARROW_RETURN_NOT_OK(PackOptions::Validate());
  if (pack_window_bytes < 1) {
    return Status::Invalid("pack_window_bytes must be at least 1; it is ", pack_window_bytes);
  }
  if (shuffle_bins && !StrategyOf(strategy).shuffles_bins) {
    return Status::Invalid("shuffle_bins is for the bins of ", ShufflersOfBins(),
                           "; the strategy is \"", Name(strategy), "\"");
  }
  if (rows_per_batch < 1) {
    return Status::Invalid("rows_per_batch must be at least 1; it is ", rows_per_batch);
  }
  return Status::OK();
}

const std::vector<std::string>& DefaultTokenFields() {
  static const std::vector<std::string> kFields = {"labels", "loss_mask", "completion_mask",
                                                   "assistant_masks", "token_type_ids"};
  return kFields;
}

}  // namespace easydata::pack
