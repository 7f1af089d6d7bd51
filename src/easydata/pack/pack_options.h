#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/named_value.h"
#include "easydata/base/status.h"
#include "easydata/config/field.h"
#include "easydata/pack/packing_strategies.h"
#include "easydata/pack/packing_strategy.h"

namespace easydata::pack {

/// Decides what becomes of a document that, with its closing EOS, is longer than a row.
enum class Overlong {
  kSplit,     // goes on in the next row; an error where documents are kept whole
  kTruncate,  // keeps its first tokens, and the EOS where one is due
  kDrop,      // is left out and counted
  kError,     // ends the stream with its address
};

std::span<const NamedValue<Overlong>> NamesOf(Overlong);
/// The names of the strategies of which `has` is `value`, in the order of the docs.
std::vector<config::Json> StrategiesThat(bool PackingStrategy::*has, bool value = true);
const char* Name(Overlong overlong);

/// Documents in a row that may be empty, or too long and dropped, in a stream that never ends.
constexpr int64_t kMaxLeftOut = int64_t{1} << 20;

/// What users set of a packer.
struct PackOptions {
  int32_t seq_length = 2048;
  /// Nothing: that of the tokens' vocabulary, each document's own where they are of several.
  std::optional<int32_t> eos_token_id;
  /// Nothing: that of the tokens' vocabulary, else its EOS; 0 where nothing is known.
  std::optional<int32_t> pad_token_id;
  PackStrategy strategy = PackStrategy::kGreedy;
  int32_t num_packers = 4;
  bool include_segment_ids = true;
  Overlong overlong = Overlong::kSplit;
  /// Columns that must exist; none: those of DefaultTokenFields() that do.
  std::optional<std::vector<std::string>> token_fields;
  /// The windows of pool, first_fit and best_fit end after PackWiring::pack_window_bytes, too,
  /// whichever comes first.
  int64_t pack_window = 1000;
  /// A column of labels is made where there is none.
  bool labels = false;
  bool ignore_first_label = false;
  bool seq_lengths = false;
  bool segment_sources = false;
  std::string input_field = "input_ids";

  static constexpr const char* kName = "PackOptions";
  static constexpr const char* kDoc = "The options of a packer.";
  static constexpr const char* kNodes[] = {"pack"};

  /// The options of every packer; input_field belongs to the streams that they are part of.
  static config::FieldList Fields() {
    using O = PackOptions;
    return {
        config::Field{"seq_length", &O::seq_length, "Tokens of every row."}.AtLeast(2),
        config::Field{
            "eos_token_id", &O::eos_token_id,
            "Token that closes every document. Unset: the tokenizer's, which the tokens' files "
            "know too; of several tokenizers, each document's own. It must be set where the "
            "tokenizer is not known."}
            .ActsAt({"pack.text"})
            .AtLeast(0)
            .AtMost(2147483647),
        config::Field{"pad_token_id", &O::pad_token_id,
                      "Token that fills what is left of a row. Unset: the tokenizer's pad token, "
                      "else its EOS; 0 where the tokenizer is not known."}
            .ReadsAs(0)
            .AtLeast(0)
            .AtMost(2147483647),
        config::Field{"strategy", &O::strategy, kPackingStrategiesText},
        config::Field{"num_packers", &O::num_packers,
                      "Open rows of the pool strategy; bins of grain_first_fit and grain_best_fit."}
            .AtLeast(1)
            .Beside("strategy", StrategiesThat(&PackingStrategy::uses_num_packers)),
        config::Field{"include_segment_ids", &O::include_segment_ids,
                      "Write a column segment_ids: which document of its row a token is in."},
        config::Field{
            "overlong", &O::overlong,
            "What happens to a document that is longer than a row. split continues in the next "
            "row, "
            "truncate keeps its beginning and the EOS, drop leaves it out, error ends the stream; "
            "what is left out is counted. grain_first_fit and grain_best_fit cannot split: there "
            "it is an error, as in Grain."},
        config::Field{
            "token_fields", &O::token_fields,
            "Columns with a value for each token, cut like the tokens. Unset: labels, loss_mask, "
            "completion_mask, assistant_masks, token_type_ids, as far as they exist. An EOS that "
            "the packer adds is trained on (itself as label, 1 in masks) where the token before "
            "it is; padding has -100 and 0."},
        config::Field{
            "pack_window", &O::pack_window,
            "Documents after which open rows are closed (pool, first_fit; best_fit: at the "
            "latest)."}
            .AtLeast(1)
            .Beside("strategy", StrategiesThat(&PackingStrategy::uses_window)),
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
        config::Field{
            "segment_sources", &O::segment_sources,
            "Write a column segment_sources: for each segment of a row the source, the file, the "
            "row in it (from 0), and how many of the document's tokens are in rows before."},
    };
  }

  /// Invalid, naming the option, where one is wrong.
  Status Validate() const;
};

/// What a packer is told by what it stands in.
struct PackWiring {
  /// Tokens (4 bytes each) after which the windows of pool, first_fit and best_fit end.
  int64_t pack_window_bytes = int64_t{32} << 20;
  /// Grain's bins only: whether those of a group are permuted, by `seed`, as shuffle_bins does.
  bool shuffle_bins = false;
  uint64_t seed = 0;
  /// Grain's numbers: segments from 1, and 0 on padding, like the positions there. They say what is
  /// padding, and there is no attention_mask.
  bool grain_numbers = false;
  /// Rows of an output batch; they do not change the stream.
  int64_t rows_per_batch = 64;
  /// The documents never end, so that the search for one that can be packed may not either: it is
  /// an error where kMaxLeftOut in a row cannot. PackPlan() sets it.
  bool never_ends = false;
};

/// All that the module itself looks at.
struct PackSettings : PackOptions, PackWiring {
  /// Invalid, naming the option, where one is wrong.
  Status Validate() const;
};

/// labels, loss_mask, completion_mask, assistant_masks, token_type_ids.
const std::vector<std::string>& DefaultTokenFields();

}  // namespace easydata::pack
