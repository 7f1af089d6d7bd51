#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/pack/pack_options.h"
#include "easydata/pack/token_column.h"
#include "easydata/stream/read_position.h"
#include "easydata/stream/stage.h"

namespace easydata::pack {

/// The values of a token column where it has none of its own: at the closing EOS, on padding, and
/// for documents whose row of the column is null.
enum class FieldRule {
  kTokens,  // the tokens themselves
  kLabels,  // EOS: itself, or -100 after -100; padding: -100; null: the tokens
  kMask,    // EOS: as the last token; padding: 0; null: 1
  kTypes,   // EOS: that of the last token; padding: 0; null: 0
};

struct TokenField {
  std::string name;
  FieldRule rule;
  int column = 0;  // in the upstream schema
};

/// Finds the columns that are cut: the tokens first, then the token fields that there are. Errors
/// name the missing column and those that there are.
Result<std::vector<TokenField>> FindTokenFields(const arrow::Schema& schema,
                                                const PackOptions& options);

/// An upstream batch, opened for reading tokens.
struct DocumentBatch {
  Batch batch;
  /// By part of its rows, one column a field; gathered rows are one part.
  std::vector<std::vector<TokenColumn>> columns;
  /// The upstream's position before the batch.
  Cursor before;

  /// Where a row's tokens are.
  RowRef RefOf(int64_t row) const {
    return batch.ungathered == nullptr ? RowRef{0, row} : batch.ungathered->rows[row];
  }
  Address AddressOf(int64_t row) const;
};

/// A document as it goes into rows: its tokens, cut to `kept`, and the closing EOS where it lacks
/// one.
struct Document {
  std::shared_ptr<const DocumentBatch> batch;
  int64_t row = 0;
  int64_t kept = 0;
  int64_t length = 0;  // kept, and 1 where an EOS is added
  RowRef ref{};        // of the row
  int32_t eos = 0;     // that is added

  /// The field's column; the document is row `ref.row` of it.
  const TokenColumn& column(size_t field) const { return batch->columns[ref.part][field]; }
  Address address() const { return batch->AddressOf(row); }
};

/// Gives the documents of a stage one by one, with the policy for empty and overlong ones applied.
class DocumentReader {
 public:
  DocumentReader(std::unique_ptr<Stage> upstream, PackSettings options,
                 std::vector<TokenField> fields);

  /// The next document that has tokens; false at the end of the stream.
  Result<bool> Next(Document* document);

  /// The position from which the document is read again.
  static ReadPosition Before(const Document& document);
  /// The position after the last document.
  ReadPosition After() const;
  Status Restore(const ReadPosition& position);
  /// How far a mix was read up to the last document.
  MixWatermark::Boundary Watermark() const {
    return batch_ == nullptr ? watermark_ : batch_->batch.watermark.At(row_);
  }

  /// Takes the counts of what was left out since the last call.
  std::vector<DropCount> TakeDropped();

  Stage* upstream() const { return upstream_.get(); }

 private:
  Status Pull();
  Result<std::vector<TokenColumn>> ColumnsOf(const Batch& part) const;
  Result<bool> Accept(int64_t row, Document* document);
  Status TooLong(int64_t row, int64_t length) const;
  Status NoneFits(int64_t row) const;
  /// The token that closes the document of a row.
  Result<int32_t> EosOf(const Address& address) const;
  void Count(const Address& address, const char* reason, int64_t rows, int64_t tokens);

  std::unique_ptr<Stage> upstream_;
  const PackSettings options_;
  const PackingStrategy& strategy_;
  const std::vector<TokenField> fields_;
  std::shared_ptr<const DocumentBatch> batch_;
  Cursor before_error_;               // where the upstream failed
  MixWatermark::Boundary watermark_;  // of the batches before
  int64_t row_ = 0;                   // of the next record
  int64_t skip_ = 0;                  // records to pass over after a restore
  bool ended_ = false;
  std::vector<DropCount> dropped_;
};

}  // namespace easydata::pack
