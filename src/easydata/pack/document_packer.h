#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/pack/pack_options.h"
#include "easydata/pack/row_plan.h"
#include "easydata/pack/row_writer.h"
#include "easydata/pack/window_planner.h"
#include "easydata/stream/batch.h"

namespace easydata::pack {

/// Packs documents that are added one by one: as the stage does, without a stream. A span's
/// document is the number of its Add(), from 0.
class DocumentPacker {
 public:
  static Result<std::unique_ptr<DocumentPacker>> Make(const PackOptions& options,
                                                      const PackWiring& wiring = {});

  /// Adds a document; returns the rows that it completes, each a batch of one row. One without
  /// tokens is passed over. The tokens must not change until their rows are out.
  Result<std::vector<Batch>> Add(std::shared_ptr<arrow::Array> tokens);
  /// Closes the open rows.
  Result<std::vector<Batch>> Flush();

 private:
  explicit DocumentPacker(PackSettings options);

  Result<std::optional<Document>> Open(std::shared_ptr<arrow::Array> tokens);
  Status PutGreedily(const Document& document, std::vector<Batch>* rows);
  Status WritePlan(std::vector<Batch>* rows);
  Status CloseWindow(bool last, std::vector<Batch>* rows);

  const PackSettings options_;
  RowWriter writer_;
  const std::unique_ptr<WindowPlanner> planner_;  // null: concatenate
  RowPlan plan_;                                  // rows that are complete
  int64_t window_rows_ = 0;                       // rows given out of the window
  int64_t rows_before_ = 0;                       // and of those before it
  std::vector<Document> window_;
  int64_t next_number_ = 0;
};

}  // namespace easydata::pack
