#include "easydata/pack/pack_options.h"

namespace easydata {

namespace {

template <typename T>
struct Named {
  const char* name;
  T value;
};

constexpr Named<PackStrategy> kStrategies[] = {
    {"greedy", PackStrategy::kGreedy},
    {"pool", PackStrategy::kPool},
    {"first_fit", PackStrategy::kFirstFit},
    {"best_fit", PackStrategy::kBestFit},
    {"grain_first_fit", PackStrategy::kGrainFirstFit},
    {"grain_best_fit", PackStrategy::kGrainBestFit},
    {"grain_concat", PackStrategy::kGrainConcat},
};

constexpr Named<Overlong> kPolicies[] = {
    {"split", Overlong::kSplit},
    {"truncate", Overlong::kTruncate},
    {"drop", Overlong::kDrop},
    {"error", Overlong::kError},
};

template <typename T, size_t n>
Result<T> Parse(const Named<T> (&known)[n], const char* what, const std::string& name) {
  std::string names;
  for (const auto& each : known) {
    if (each.name == name) return each.value;
    if (!names.empty()) names += &each == &known[n - 1] ? " or " : ", ";
    names += "\"" + std::string(each.name) + "\"";
  }
  return Status::Invalid("unknown ", what, "; use ", names, ": \"", name, "\"");
}

template <typename T, size_t n>
const char* NameOf(const Named<T> (&known)[n], T value) {
  for (const auto& each : known) {
    if (each.value == value) return each.name;
  }
  return "";
}

}  // namespace

bool IsGrain(PackStrategy strategy) {
  return IsGrainBins(strategy) || strategy == PackStrategy::kGrainConcat;
}

bool IsGrainBins(PackStrategy strategy) {
  return strategy == PackStrategy::kGrainFirstFit || strategy == PackStrategy::kGrainBestFit;
}

Result<PackStrategy> ParsePackStrategy(const std::string& name) {
  return Parse(kStrategies, "packing strategy", name);
}

const char* Name(PackStrategy strategy) { return NameOf(kStrategies, strategy); }

Result<Overlong> ParseOverlong(const std::string& name) {
  return Parse(kPolicies, "value of overlong", name);
}

const char* Name(Overlong overlong) { return NameOf(kPolicies, overlong); }

Status PackOptions::Validate() const {
  if (seq_length < 2) {
    return Status::Invalid("seq_length must be at least 2, a token and its EOS; it is ",
                           seq_length);
  }
  if (num_packers < 1)
    return Status::Invalid("num_packers must be at least 1; it is ", num_packers);
  if (pack_window < 1)
    return Status::Invalid("pack_window must be at least 1; it is ", pack_window);
  if (pack_window_bytes < 1) {
    return Status::Invalid("pack_window_bytes must be at least 1; it is ", pack_window_bytes);
  }
  if (shuffle_bins && !IsGrainBins(strategy)) {
    return Status::Invalid(
        "shuffle_bins is for the bins of \"grain_first_fit\" and \"grain_best_fit\"; the strategy "
        "is \"",
        Name(strategy), "\"");
  }
  if (rows_per_batch < 1) {
    return Status::Invalid("rows_per_batch must be at least 1; it is ", rows_per_batch);
  }
  if (eos_token_id < 0) {
    return Status::Invalid("eos_token_id must be a token, 0 or more; it is ", eos_token_id);
  }
  return Status::OK();
}

const std::vector<std::string>& DefaultTokenFields() {
  static const std::vector<std::string> kFields = {"labels", "loss_mask", "completion_mask",
                                                   "assistant_masks", "token_type_ids"};
  return kFields;
}

}  // namespace easydata
