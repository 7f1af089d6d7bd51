#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/sink/output_folder.h"
#include "easydata/sink/save_job.h"
#include "easydata/sink/unit_writer.h"
#include "easydata/stream/unit.h"

namespace easydata::sink {

/// Holds an output whose shards are units: says which units are left, notes those that were
/// written, by whatever process, and ends the output. For one thread.
///
/// What was written is never written again: a later coordinator of the same job also takes up what
/// nobody noted. The output is the same, byte for byte, whoever writes the units.
class UnitCoordinator {
 public:
  struct Opened {
    int64_t num_units = 0;
    std::vector<Unit> left;
    /// The output is complete already: only Finish() is left to call.
    bool is_finished = false;
  };

  explicit UnitCoordinator(SaveJob job) : job_(std::move(job)) {}

  /// Makes or resumes the output and locks it: OutputFolder::Open() has the errors. `stopped` is
  /// OutputJob::stopped.
  Result<Opened> Open(std::function<bool()> stopped);
  /// OutputFolder::AddUnit().
  Status Add(const nlohmann::json& record);
  /// Ends the output. `writer` knows the form of the shards. Invalid where a unit lacks.
  Result<WriteResult> Finish(UnitWriter* writer);

  /// What there is so far; null before Open().
  const OutputFolder* folder() const { return folder_.get(); }

 private:
  const SaveJob job_;
  std::unique_ptr<OutputFolder> folder_;
  int64_t num_units_ = 0;
};

}  // namespace easydata::sink
