#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/pack/packing_strategy.h"

namespace easydata {

/// What becomes of a document that, its closing EOS included, is longer than a row.
enum class Overlong {
  kSplit,     // goes on in the next row; an error where documents are kept whole
  kTruncate,  // keeps its first tokens, and the EOS where one is due
  kDrop,      // is left out and counted
  kError,     // ends the stream with its address
};

Result<Overlong> ParseOverlong(const std::string& name);
const char* Name(Overlong overlong);

/// Documents in a row that may be empty, or too long and dropped, in a stream that never ends.
constexpr int64_t kMaxLeftOut = int64_t{1} << 20;

struct PackOptions {
  int32_t seq_length = 2048;
  int32_t eos_token_id = 2;
  int32_t pad_token_id = 0;
  PackStrategy strategy = PackStrategy::kGreedy;
  /// Open rows of the pool strategy; bins of a group of Grain's.
  int32_t num_packers = 4;
  bool include_segment_ids = true;
  Overlong overlong = Overlong::kSplit;
  std::string input_field = "input_ids";
  /// Columns cut like the tokens; they must exist.
  std::vector<std::string> token_fields;
  /// Those of DefaultTokenFields() that exist are cut too.
  bool default_token_fields = true;
  /// Pool and first_fit flush (best_fit at the latest) after this many documents, or this many
  /// bytes of tokens (4 each), whichever comes first.
  int64_t pack_window = 1000;
  int64_t pack_window_bytes = int64_t{32} << 20;
  /// Grain's bins only: whether those of a group are permuted, by `seed`, as shuffle_bins does.
  bool shuffle_bins = false;
  uint64_t seed = 0;
  /// Rows of an output batch: nothing but a matter of hand-over, no part of the stream.
  int64_t rows_per_batch = 64;
  /// The documents never end, so that looking for one that can be packed may not either: it is an
  /// error where kMaxLeftOut in a row cannot. PackPlan() sees to it.
  bool never_ends = false;

  /// Invalid, naming the option, where one makes no sense.
  Status Validate() const;
};

/// labels, loss_mask, completion_mask, assistant_masks, token_type_ids.
const std::vector<std::string>& DefaultTokenFields();

}  // namespace easydata
