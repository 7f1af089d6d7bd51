#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace easydata::exec {
class ThreadPool;
}  // namespace easydata::exec

namespace easydata {

struct Unit;  // stream/unit.h

/// What a consumer needs of the stream that it reads: travels upstream when stages are made.
///
/// A stage passes on what holds for its own upstream, too, and replaces the rest: a packer says how
/// many tokens a row takes, a mix demands nothing of its sources.
struct Demand {
  /// Rows of a step from a step on, the first from step 0; empty: the consumer has no steps.
  struct StepRows {
    int64_t step = 0;
    int64_t rows = 1;

    bool operator==(const StepRows&) const = default;
  };
  std::vector<StepRows> step_rows;
  /// Tokens of `token_column` that make up one row of a step; 0: a row is a row.
  int64_t row_tokens = 0;
  std::string token_column;
  /// Passes that follow each other without an end between them, of a stream that carries on from
  /// pass to pass (StreamFacts::carries_passes); nothing: for ever.
  std::optional<int64_t> passes = 1;

  /// Rows of the first step; 0: the consumer has no steps.
  int64_t first_step_rows() const { return step_rows.empty() ? 0 : step_rows.front().rows; }
};

/// What the stages of one pass share.
struct StageContext {
  /// Number of the pass, from 0: shuffled sources have an order per (seed, epoch).
  int64_t epoch = 0;
  std::shared_ptr<exec::ThreadPool> pool;
  /// Which of `lanes` independent parts of the stream is made, from 0. Sources partition what they
  /// have among the lanes; everything downstream works on its own lane's rows alone.
  int64_t lane = 0;
  int64_t lanes = 1;
  /// The part of its files that the stream is made of; null: all of them. Only for plans with
  /// StreamFacts::divide.
  std::shared_ptr<const Unit> unit = nullptr;
  /// Tasks that a stage may have in hand at once; 0: as many as keep the pool busy.
  int read_ahead = 0;
  Demand demand = {};

  int ReadAhead() const;
  /// The share of each of `n` stages that read side by side: a task that is waited for and one on
  /// its way, where they are not very many.
  int ReadAheadOfEach(int64_t n) const;
  /// Rows of the lane, where `rows` are partitioned one by one.
  int64_t ShareOf(int64_t rows) const { return rows / lanes + (lane < rows % lanes ? 1 : 0); }
  /// The seed that a stage uses in place of `seed`, so that lanes, or units, do not all draw the
  /// same.
  uint64_t SeedOf(uint64_t seed) const;
  /// For the end of an error about a stream without rows: what to do where it is one of several
  /// lanes, else nothing.
  std::string OrFewerLanes() const;
};

}  // namespace easydata
