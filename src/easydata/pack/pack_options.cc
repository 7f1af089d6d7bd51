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
  for (PackStrategy strategy : AllPackStrategies()) {
    if (!StrategyOf(strategy).shuffles_bins) continue;
    if (!names.empty()) names += " and ";
    names += "\"" + std::string(Name(strategy)) + "\"";
  }
  return names;
}

}  // namespace

config::FieldList PackOptions::Fields() {
  using O = PackOptions;
  return {
      config::Field{"seq_length", &O::seq_length, "Tokens of every row."}.AtLeast(2),
      config::Field{"eos_token_id", &O::eos_token_id, "Token that closes every document."}.AtLeast(
          0),
      config::Field{"pad_token_id", &O::pad_token_id, "Token that fills what is left of a row."}
          .AtLeast(0),
      config::Field{"strategy", &O::strategy, kPackingStrategiesText},
      config::Field{"num_packers", &O::num_packers,
                    "Open rows of the pool strategy; bins of grain_first_fit and grain_best_fit."}
          .AtLeast(1),
      config::Field{"include_segment_ids", &O::include_segment_ids,
                    "Write a column segment_ids: which document of its row a token is in."},
      config::Field{
          "overlong", &O::overlong,
          "What happens to a document that is longer than a row. split goes on in the next row, "
          "truncate keeps its beginning and the EOS, drop leaves it out, error ends the stream; "
          "what is left out is counted. grain_first_fit and grain_best_fit cannot split: there "
          "it is an error, as in Grain."},
      config::Field{
          "token_fields", &O::token_fields,
          "Columns with a value for each token, cut like the tokens. Unset: labels, loss_mask, "
          "completion_mask, assistant_masks, token_type_ids, as far as they exist. An EOS that "
          "the packer adds is trained on (itself as label, 1 in masks) where the token before "
          "it is; padding has -100 and 0."},
      config::Field{"pack_window", &O::pack_window,
                    "Documents after which open rows are closed (pool, first_fit; best_fit: at the "
                    "latest)."}
          .AtLeast(1),
      config::Field{
          "labels", &O::labels,
          "Make a column labels where there is none: the tokens that all masks let be trained "
          "on, -100 elsewhere and on padding."},
      config::Field{
          "ignore_first_label", &O::ignore_first_label,
          "Give the first token of every segment the label -100, as TRL does: it would be "
          "predicted from another document."},
      config::Field{
          "seq_lengths", &O::seq_lengths,
          "Write a column seq_lengths: the lengths of a row's segments, its padding as the last "
          "one. TRL's padding-free collator reads it."},
  };
}

std::span<const NamedValue<Overlong>> NamesOf(Overlong) { return kPolicies; }

const char* Name(Overlong overlong) { return NameOf(kPolicies, overlong); }

Status PackOptions::Validate() const {
  ARROW_RETURN_NOT_OK(config::CheckOptions(*this));
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
