#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "easydata/config/field.h"
#include "easydata/config/problem.h"
#include "easydata/loader/collate.h"
#include "easydata/stream/plan.h"

namespace easydata::loader {

/// Says how a stream of rows is cut into steps.
struct StepOptions {
  int64_t batch_size = 8;
  /// By step, the factor of `batch_size` from that step on.
  std::map<int64_t, int64_t> rampup;
  bool drop_last = true;
  int64_t rank = 0;
  int64_t world_size = 1;
  /// Independent parts of the stream: lane l gives the l-th of so many equal parts of each step.
  int64_t lanes = 1;
  /// Passes that follow each other without an end between them. Several lanes end together, with
  /// the shortest; what the others have left is dropped.
  int64_t passes = 1;
  /// Steps between two ends, however long the passes are, which then follow each other for ever;
  /// nothing: the passes end where their rows do.
  std::optional<int64_t> steps;
  /// Passes that the stream itself carries on through (Demand::passes), beside `passes`.
  std::optional<int64_t> carried_passes = 1;
  PadOptions padding;

  /// Those that users set; the others follow from what is loaded.
  static config::FieldList Fields();

  /// Adds what is wrong with options of which each is right by itself.
  void Check(const std::string& path, config::Problems* problems) const;

  /// Rows of step number `step`, over all ranks.
  int64_t SizeOf(int64_t step) const;
  /// Rows of the steps before number `step`.
  int64_t RowsBefore(int64_t step) const;
  /// Whether the rows before `step` fit into an int64.
  bool Countable(int64_t step) const;

  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  /// The lanes that hold this rank's rows.
  Range LanesRead() const;
  /// What the steps demand of the stream.
  Demand AsDemand() const;
  /// Whether a stream that is read in these steps has no end.
  bool IsEndless(const StreamFacts& facts) const {
    return facts.is_endless() || !carried_passes.has_value();
  }
};

}  // namespace easydata::loader
