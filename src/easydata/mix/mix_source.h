#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/stream/address.h"
#include "easydata/stream/mix_end.h"
#include "easydata/stream/plan.h"
#include "easydata/stream/stage.h"

namespace easydata::mix {

/// One of the streams that are mixed, with the batch that examples are being taken from.
///
/// CloseStage() closes its stage, with its files and tasks; when rows are wanted, it is made again
/// where it stood. For one thread; Cancel() for any.
class MixSource {
 public:
  MixSource(std::string name, StageFactory make, const StageContext& context)
      : name_(std::move(name)), make_(std::move(make)), context_(context), shards_(name_) {}

  /// Makes the stage of the first pass and returns the schema of its rows.
  Result<std::shared_ptr<arrow::Schema>> Open();

  /// Its documents are closed by this token; nothing: as their shards say. Before the first row.
  void CloseWith(std::optional<int32_t> eos_id) { shards_.CloseWith(eos_id); }

  const std::string& name() const { return name_; }
  /// Completed passes.
  int64_t passes() const { return passes_; }
  bool is_open() const { return stage_ != nullptr; }
  /// Closes the stage until rows are wanted.
  Status CloseStage();

  bool has_row() const { return batch_ != nullptr; }
  const std::shared_ptr<Batch>& batch() const { return batch_; }
  /// The next row of the batch.
  int64_t row() const { return used_; }
  int64_t row_bytes() const { return bytes_[used_]; }
  int64_t row_tokens() const { return tokens_.empty() ? 0 : tokens_[used_]; }
  /// Takes that row; where it is the first of the batch, what was dropped beside it joins
  /// `dropped`.
  void Take(std::vector<DropCount>* dropped);

  /// Pulls the next batch with rows, its columns as in `schema`; false at the end of the pass.
  /// Counts RowTokens() of `token_column` where one is given.
  Result<bool> Pull(const arrow::Schema& schema, const std::string* token_column,
                    std::vector<DropCount>* dropped);

  /// Goes to row `row` of all passes, one after the other, before the first row; false where the
  /// stage cannot find it: then the source must not be used any more.
  Result<bool> Seek(int64_t row);

  /// Whether a row of the pass was taken, or any token.
  bool pass_has_rows() const { return pass_has_rows_; }
  bool pass_has_tokens() const { return pass_has_tokens_; }
  /// Starts the next pass.
  Status StartPass();

  /// How far it was read when the mix ended: a pass whose rows were all taken is complete. Counts
  /// the rows of a pass where a stage of its own can tell without reading them. The source gives
  /// no more rows then.
  MixEnd::Source HowFar();

  /// The position of a source.
  struct Position {
    int64_t passes = 0;
    int64_t used = 0;                    // rows of the batch that the stage gives next
    std::optional<int64_t> rows;         // taken in this pass
    std::optional<int64_t> rows_before;  // in the passes before
    bool pass_has_rows = false;
    bool pass_has_tokens = false;
    bool seen_whole = false;
    Cursor upstream;
  };
  Position Save() const;
  Status Restore(const nlohmann::json& saved);
  void Cancel();
  StageStats stats() const;

  /// Number of the batch among those that are being gathered; -1: not among them.
  int32_t part = -1;
  bool seen_whole = false;

 private:
  Status Wake();
  void NameRows(Batch* rows);
  Status NameError(const Status& error);
  void LetGo();
  /// Rows of a pass, by a stage of its own; nothing where it would have to read them.
  std::optional<int64_t> CountRows();

  const std::string name_;
  const StageFactory make_;
  const StageContext context_;
  std::unique_ptr<Stage> stage_;
  /// The position of a closed stage; empty for the start of the pass.
  Cursor asleep_;
  int64_t passes_ = 0;
  bool pass_has_rows_ = false;
  bool pass_has_tokens_ = false;
  // Rows taken in this pass, and in those before; nothing where the state did not say.
  std::optional<int64_t> rows_ = 0;
  std::optional<int64_t> rows_before_ = 0;
  /// The stage's position before the batch in hand; empty where there is none.
  Cursor before_;
  std::shared_ptr<Batch> batch_;
  std::vector<int64_t> bytes_;   // of content, by row of the batch
  std::vector<int64_t> tokens_;  // by row, where there are any
  int64_t used_ = 0;             // rows of the batch that were given out; after a restore, to skip
  bool at_end_ = false;          // of the pass, as the stage said
  ShardNames shards_;
  StageStats past_;  // of stages that are gone; but `read`: of this pass, where it is closed
  std::unique_ptr<Stage> counting_;
  // Guards stage_, counting_, cancelled_.
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  bool cancelled_ = false;
};

}  // namespace easydata::mix
