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
  static constexpr const char* kNodes[] = {"loader"};

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
  /// In place of the pad token that the stream knows.
  std::optional<int64_t> pad_token_id;

  /// Those that users set; the others follow from what is loaded.
  static config::FieldList Fields() {
    using O = StepOptions;
    return {
        config::Field{"batch_size", &O::batch_size,
                      "Rows of a step, over all ranks; a multiple of world_size and of lanes."}
            .AtLeast(1),
        config::Field{
            "drop_last", &O::drop_last,
            "Leave out a last batch that is not full. Otherwise it is short or, with several "
            "ranks, filled up with rows of attention_mask 0 and labels -100."},
        config::Field{
            "pad_token_id", &O::pad_token_id,
            "Token that columns of tokens are filled up with. Unset: the pad token of the "
            "tokenizer that they come from, else its EOS; 0 where the tokenizer is not known."}
            .AtLeast(0)
            .AtMost(2147483647),
        config::Field{"rank", &O::rank, "Which part of every step this process gets, from 0."}
            .AtLeast(0),
        config::Field{"world_size", &O::world_size, "Processes that share the stream."}.AtLeast(1),
        config::Field{
            "lanes", &O::lanes,
            "Independent parts of the stream, each with its own share of the data, mixed and "
            "packed by itself; lane l gives the l-th of so many equal parts of every step, and a "
            "rank reads only the lanes that its rows are in. More than 1 needs `steps`, a mix that "
            "never ends, or files that say how many rows they have: such lanes end together with "
            "the shortest, and what the others have beyond that is dropped, and counted so."}
            .AtLeast(1),
        config::Field{
            "steps", &O::steps,
            "Batches for each iter() of the loader, over as many passes as that takes: the next "
            "one continues where this one ended. Unset: as many as `epochs` have."}
            .AtLeast(1),
        config::Field{
            "batch_rampup", &O::rampup,
            "{step: factor}: batch_size is multiplied by the factor from the step on; whole "
            "factors, and steps that count on from epoch to epoch."}
            .OrNone(),
    };
  }

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
