#include "easydata/pack/pack_options.h"

namespace easydata {

Result<PackStrategy> ParsePackStrategy(const std::string& name) {
  if (name == "greedy") return PackStrategy::kGreedy;
  if (name == "pool") return PackStrategy::kPool;
  if (name == "first_fit") return PackStrategy::kFirstFit;
  if (name == "best_fit") {
    return Status::NotImplemented(
        "the packing strategy \"best_fit\" is not there yet; use \"first_fit\"");
  }
  return Status::Invalid("unknown packing strategy; use \"greedy\", \"pool\" or \"first_fit\": \"",
                         name, "\"");
}

Result<Overlong> ParseOverlong(const std::string& name) {
  if (name == "split") return Overlong::kSplit;
  if (name == "truncate") return Overlong::kTruncate;
  if (name == "drop") return Overlong::kDrop;
  if (name == "error") return Overlong::kError;
  return Status::Invalid(
      "unknown value of overlong; use \"split\", \"truncate\", \"drop\" or \"error\": \"", name,
      "\"");
}

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
