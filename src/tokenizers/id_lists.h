#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/id_buffer.h"

namespace easydata::tokenizers {

/// Ids of consecutive rows of an array of texts, or of a part of one row: only the last part has
/// the row's end.
struct EncodedRows {
  std::vector<int64_t> ends;  // in its ids
  int64_t num_ids = 0;
  int64_t num_cut_texts = 0;
  std::vector<int64_t> first_cut_rows = {};
  int64_t num_cut_ids = 0;
  /// Where the rows came from, for their validity; row i is texts[first_row + i].
  const arrow::Array* texts = nullptr;
  int64_t first_row = 0;
};

/// Joins the ids of parts, which threads make in any order, while they are still in near memory.
class IdJoiner {
 public:
  /// `num_expected` ids have room at once; more are put where they belong in the end. The joined
  /// ids are in memory of `pool`.
  IdJoiner(size_t num_parts, size_t num_expected, IdBufferPool* pool);

  /// Adds the ids of part `part`, each part once. Thread-safe.
  void Add(size_t part, IdBuffer ids);

  /// Returns all ids, once each part was added.
  Result<std::shared_ptr<arrow::Buffer>> Finish();

 private:
  struct Part {
    IdBuffer ids;  // until they are copied
    size_t offset = 0;
    bool has_come = false;
  };

  bool HasRoom(const Part& part) const {
    return part.offset + part.ids.size() <= joined_.capacity();
  }
  void Copy(Part* part);

  IdBufferPool* const pool_;
  std::mutex mutex_;
  std::vector<Part> parts_;
  size_t num_laid_out_ = 0;  // of the first parts
  size_t num_ids_ = 0;       // of those
  IdBuffer joined_;
};

/// Rows of ids in their order: list<int32>, or large_list<int32> if there are more than 2^31 - 1
/// ids. Rows of null texts are null.
Result<std::shared_ptr<arrow::Array>> JoinRows(const std::vector<EncodedRows>& parts,
                                               std::shared_ptr<arrow::Buffer> ids);

}  // namespace easydata::tokenizers
