#pragma once

#include <functional>
#include <string>
#include <vector>

#include "easydata/stream/stage.h"

namespace easydata {

/// The one test suite that every stage passes, for the tests of stages (GoogleTest): call
/// CheckStageContract() with the stage's factory. `make` gets the threads to use in its context; it
/// returns a fresh stage each time. (Random delays: loader/loader_delays_test.cc.)
///
/// Checked: the same rows, addresses and spans for 1, 2 and 4 threads; restored after every batch
/// k, the ordered rest is equal; restored twice over; saving right after restoring gives the same
/// bytes; rows are found by their number, where the stage says how many it has; the cursor stays
/// below `max_cursor_bytes`; Cancel() before and between calls returns soon; end of stream stays
/// the end.
struct StageContract {
  std::function<Result<std::unique_ptr<Stage>>(const StageContext&)> make;
  size_t max_cursor_bytes = 4096;
  /// Restores are tried at no more than this many positions, spread evenly.
  int max_restores = 64;
  /// Whether the stage, where it says how many rows it has, finds each by its number.
  bool finds_rows = true;
};

/// One line a row: its values, address and spans. What the contract compares, batch edges left out.
std::vector<std::string> DescribeRows(const Batch& batch);

void CheckStageContract(const StageContract& contract);

/// Checks that the rows before an error come out first and that the error stays; returns the error.
Status CheckErrorContract(const StageContract& contract, int64_t rows_before);

}  // namespace easydata
