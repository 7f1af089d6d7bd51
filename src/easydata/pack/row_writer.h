#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "easydata/base/slab_pool.h"
#include "easydata/base/status.h"
#include "easydata/pack/document_reader.h"
#include "easydata/stream/batch.h"

namespace easydata::pack {

/// The columns of packed rows, whose documents have these fields.
std::shared_ptr<arrow::Schema> PackedSchema(const PackSettings& options,
                                            const std::vector<TokenField>& fields);

/// Writes packed rows straight into the columns of a batch: fixed_size_list<int32>[seq_length] for
/// input_ids, attention_mask, position_ids, segment_ids (as far as asked for) and the token fields.
///
/// Everything is written by runs: no work per token but copies and fills. The memory of freed
/// batches is used again.
class RowWriter {
 public:
  RowWriter(const PackSettings& options, std::vector<TokenField> fields);

  std::shared_ptr<arrow::Schema> schema() const { return schema_; }

  /// Complete rows in hand, and whether they make a batch.
  int64_t num_rows() const { return row_; }
  bool full() const { return row_ == options_.rows_per_batch; }
  /// Tokens that the row in hand can take.
  int32_t room() const { return options_.seq_length - used_; }

  /// Writes a run of a document, of at most room() tokens, as one segment. Not when full().
  Status Put(const Document& document, int64_t offset, int32_t length);
  /// Pads the row in hand, if anything is in it.
  void CloseRow();
  /// Gives out the complete rows; the row in hand must be empty.
  Result<Batch> Finish();

 private:
  Status Open();
  void EndRow();
  int32_t* Plane(int plane) {
    return planes_ + plane * options_.rows_per_batch * options_.seq_length;
  }

  int32_t first_segment() const { return options_.grain_numbers ? 1 : 0; }
  /// Writes 0 into the attention mask for what lies at `at`.
  void MaskPadding(int64_t at, int32_t length);
  /// Writes the labels of a run that has none of its own.
  void MakeLabels(int64_t at, int32_t length);
  Result<std::shared_ptr<arrow::Array>> SegmentLengths() const;
  Result<std::shared_ptr<arrow::Array>> SegmentSources() const;

  const PackSettings options_;
  const std::vector<TokenField> fields_;
  const std::shared_ptr<arrow::Schema> schema_;
  /// The planes of labels, and the one that is made; -1: none is.
  std::vector<int> label_planes_;
  int made_labels_ = -1;
  SlabPool slabs_;
  std::shared_ptr<arrow::Buffer> all_ones_;
  std::shared_ptr<arrow::Buffer> slab_;  // null until a row is begun
  int32_t* planes_ = nullptr;
  std::shared_ptr<SpanTable> spans_;
  int64_t row_ = 0;
  int32_t used_ = 0;
  int32_t segment_ = first_segment();
  bool padded_ = false;  // a row of the batch has padding
};

}  // namespace easydata::pack
