#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "easydata/base/status.h"
#include "easydata/stream/plan.h"

namespace easydata::order {

struct WindowShuffleOptions {
  /// A window closes at this many rows or this many bytes of content, whichever comes first: its
  /// edges depend on the stream alone, not on how it arrives.
  int64_t rows = 10000;
  int64_t bytes = int64_t{256} << 20;
  /// A plan bounds its windows by so many steps of the consumer, too, or so many rows where it has
  /// no steps: what a schedule upstream changes step by step comes out as it was meant. 0: it does
  /// not.
  int64_t most_steps = 0;
  uint64_t seed = 0;
  /// 0: rows are permuted one by one. Else so many rows of about one length make a bucket, and
  /// buckets are permuted (BucketOrder). Lengths are those of `input_ids` where it is a list, else
  /// the bytes of rows. Windows have whole buckets, but for the last; each of several lanes has its
  /// part of window and buckets.
  int64_t bucket_rows = 0;
  /// Rows of each output batch but the last; 0: any number. It does not change the stream.
  int64_t rows_per_batch = 0;
  /// A plan gives batches of the rows of a consumer's step, where it has steps: these need no copy.
  bool in_steps = false;

  Status Validate() const;
};

/// Permutes the rows within each window by WindowOrder(seed, epoch, window number), or puts them
/// into buckets: the same on every machine, another order in every epoch, without the process's
/// random state. Spans and addresses go with their rows.
///
/// Its cursor is the upstream's at the window's start and the number of its rows that were given
/// out: a restore reads the window again.
Result<std::unique_ptr<Stage>> MakeWindowShuffleStage(std::unique_ptr<Stage> upstream,
                                                      const WindowShuffleOptions& options,
                                                      const StageContext& context);

/// Shuffles `upstream`; the operator is called `name`, to tell two shuffles of a stream apart.
Result<StreamPlan> WindowShufflePlan(const StreamPlan& upstream,
                                     const WindowShuffleOptions& options, const std::string& name);

}  // namespace easydata::order
