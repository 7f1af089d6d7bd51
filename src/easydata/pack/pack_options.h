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
const char* Name(Overlong overlong);

/// Documents in a row that may be empty, or too long and dropped, in a stream that never ends.
constexpr int64_t kMaxLeftOut = int64_t{1} << 20;

struct PackOptions {
  int32_t seq_length = 2048;
  int32_t eos_token_id = 2;
  int32_t pad_token_id = 0;
  PackStrategy strategy = PackStrategy::kGreedy;
  int32_t num_packers = 4;
  bool include_segment_ids = true;
  Overlong overlong = Overlong::kSplit;
  /// Columns that must exist; none: those of DefaultTokenFields() that do.
  std::optional<std::vector<std::string>> token_fields;
  /// The windows of pool, first_fit and best_fit end after `pack_window_bytes` of tokens (4 each),
  /// too, whichever comes first.
  int64_t pack_window = 1000;
  /// A column of labels is made where there is none.
  bool labels = false;
  bool ignore_first_label = false;
  bool seq_lengths = false;

  std::string input_field = "input_ids";
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

  static constexpr const char* kName = "PackOptions";
  static constexpr const char* kDoc = "The options of a packer.";

  /// The options of every packer; the others belong to the streams that they are part of.
  static config::FieldList Fields();

  /// Invalid, naming the option, where one is wrong.
  Status Validate() const;
};

/// labels, loss_mask, completion_mask, assistant_masks, token_type_ids.
const std::vector<std::string>& DefaultTokenFields();

}  // namespace easydata::pack
