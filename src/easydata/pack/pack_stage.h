#pragma once

#include <memory>

#include "easydata/base/status.h"
#include "easydata/pack/pack_options.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::pack {

/// Packs lists of tokens into rows of exactly seq_length, each document closed by one EOS (but not
/// in Grain's strategies, which take documents as they are). No token is lost: what is left out on
/// purpose is counted in the batches' `dropped`.
///
/// Gives columns of fixed_size_list<int32>[seq_length]: the tokens as input_ids, attention_mask (0
/// on padding), position_ids (restart at each segment and at a row's start), segment_ids (0-based;
/// padding takes the next number; others with grain_numbers) and the token fields, and a SpanTable
/// in place of addresses.
/// Batches have PackWiring::rows_per_batch rows, the last one fewer. Rows that are not complete
/// when an error comes are not given out.
Result<std::unique_ptr<Stage>> MakePackStage(std::unique_ptr<Stage> upstream,
                                             const PackSettings& options);

/// Packs `upstream`. Where several passes are demanded (Demand::passes) it packs the documents of
/// one after those of the other, without an end between them.
Result<StreamPlan> PackPlan(const StreamPlan& upstream, const PackOptions& options,
                            const PackWiring& wiring = {});

}  // namespace easydata::pack
