#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "easydata/loader/loader.h"
#include "easydata/stream/plan.h"

namespace easydata {

/// How a stream is loaded.
struct LoadOptions {
  LoaderOptions loader;
  /// In place of `loader.steps.passes`; nothing: one pass, or as many as `steps` take.
  std::optional<int64_t> epochs;
  /// Rows of a window that is shuffled; nothing: rows come as they are.
  std::optional<int64_t> shuffle_buffer_size;
  /// Batches whose rows are put in order of their length together; nothing: rows stay where they
  /// are.
  std::optional<int64_t> bucket_batches;
  uint64_t seed = 0;
};

/// Makes a loader of a stream, whose rows it shuffles and puts into buckets as the options say.
///
/// Invalid where an option contradicts another, or what the stream is: buckets of packed rows, a
/// shuffle of balanced ones.
Result<std::unique_ptr<Loader>> MakeLoader(StreamPlan plan, LoadOptions options);

}  // namespace easydata
