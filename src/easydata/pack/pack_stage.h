#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "easydata/base/status.h"
#include "easydata/pack/pack_options.h"
#include "easydata/stream/stage.h"

namespace easydata {

/// Packs lists of tokens into rows of exactly seq_length, each document closed by one EOS (but not
/// in Grain's strategies, which take documents as they are). No token is lost: what is left out on
/// purpose is counted in the batches' `dropped`.
///
/// Gives columns of fixed_size_list<int32>[seq_length]: the tokens as input_ids, attention_mask (0
/// on padding), position_ids (restart at each segment and at a row's start), segment_ids (0-based;
/// padding takes the next number) and the token fields, and a SpanTable in place of addresses.
/// Batches have options.rows_per_batch rows, the last one fewer. Rows that are not complete when an
/// error comes are not given out.
Result<std::unique_ptr<Stage>> MakePackStage(std::unique_ptr<Stage> upstream,
                                             const PackOptions& options);

/// Whether the rows of a stream are packed: all of one length.
bool IsPacked(const nlohmann::json& description);

/// The plan that packs `upstream`; its description gets the keys "pack.*".
Result<StreamPlan> PackPlan(StreamPlan upstream, const PackOptions& options);

}  // namespace easydata
