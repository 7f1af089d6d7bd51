#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "easydata/base/status.h"
#include "easydata/stream/plan.h"

namespace easydata {

struct WindowShuffleOptions {
  /// A window closes at this many rows or this many bytes of content, whichever comes first: its
  /// edges depend on the stream alone, not on how it arrives.
  int64_t rows = 10000;
  int64_t bytes = int64_t{256} << 20;
  uint64_t seed = 0;
  /// 0: rows are permuted one by one. Else so many rows of about one length follow each other, and
  /// such buckets are permuted (BucketOrder). Lengths are those of `input_ids` where it is
  /// a list, else the bytes of rows. Windows have whole buckets, but for the last; of several lanes
  /// each has its part of window and buckets.
  int64_t bucket_rows = 0;
  /// Rows of each output batch but the last; 0: some. Nothing but a matter of hand-over, no part of
  /// the stream.
  int64_t rows_per_batch = 0;
  /// A plan gives batches of the rows of a consumer's step, where it takes steps: they need no copy
  /// then.
  bool in_steps = false;

  Status Validate() const;
};

/// Permutes the rows within each window by WindowOrder(seed, epoch, window number), or puts them
/// into buckets: the same on every machine, another order in every epoch, and no random state of
/// the process is touched.
/// Spans and addresses go with their rows.
///
/// Its cursor is the upstream's at the window's start and the rows given out of it: a restore reads
/// the window again.
Result<std::unique_ptr<Stage>> MakeWindowShuffleStage(std::unique_ptr<Stage> upstream,
                                                      const WindowShuffleOptions& options,
                                                      const StageContext& context);

/// Shuffles `upstream`: an operator `name`, so that two shuffles of one stream are told apart.
Result<StreamPlan> WindowShufflePlan(const StreamPlan& upstream,
                                     const WindowShuffleOptions& options, const std::string& name);

}  // namespace easydata
