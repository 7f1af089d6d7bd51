#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace easydata::loader {

/// What sets the pace of a loader and of the training downstream.
struct Bottleneck {
  /// A stage, a kind of work of the worker threads, or "trainer"; empty before the first batch.
  std::string name;
  /// The part of a batch's time that is spent in it.
  double share = 0;
  /// How many times faster batches would come if it took no time at all; 1,000 at most.
  double speedup_if_free = 1;
  std::string sentence;

  /// {"bottleneck": its name or null, "share", "speedup_if_free", "sentence"}.
  nlohmann::ordered_json ToJson() const;
};

/// Finds the bottleneck from LoaderStats: `wait_seconds` of the thread that makes batches, and
/// `busy_seconds` of the workers and the trainer.
///
/// With `prefetch` the trainer and the thread that makes batches work side by side, and the slower
/// one sets the pace; otherwise one after the other. The wait for the workers is divided among
/// their kinds of work by the time each takes. The bottleneck is what would speed things up most,
/// were it free.
///
/// `elsewhere`: seconds that were spent waiting for other loaders. They are not the trainer's work,
/// and this loader goes on working during them as it does beside the trainer.
Bottleneck FindBottleneck(const std::map<std::string, double>& wait_seconds,
                          const std::map<std::string, double>& busy_seconds, bool prefetch,
                          double elsewhere = 0);

}  // namespace easydata::loader
