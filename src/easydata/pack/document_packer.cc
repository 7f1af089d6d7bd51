#include "easydata/pack/document_packer.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <utility>

#include "easydata/pack/pack_tokens.h"
#include "easydata/stream/memory_stage.h"

namespace easydata::pack {
namespace {

PackSettings OneRowBatches(PackSettings options) {
  options.rows_per_batch = 1;
  options.token_fields.emplace();
  return options;
}

}  // namespace

DocumentPacker::DocumentPacker(PackSettings options)
    : options_(OneRowBatches(std::move(options))),
      writer_(options_, {{"input_ids", FieldRule::kTokens, 0}}),
      planner_(WindowPlanner::Make(options_)) {}

Result<std::unique_ptr<DocumentPacker>> DocumentPacker::Make(const PackOptions& options,
                                                             const PackWiring& wiring) {
  PackSettings settings{options, wiring};
  ARROW_RETURN_NOT_OK(settings.Validate());
  ARROW_ASSIGN_OR_RAISE(settings, WithTokenIds(std::move(settings), {}));
  return std::unique_ptr<DocumentPacker>(new DocumentPacker(std::move(settings)));
}

Result<std::optional<Document>> DocumentPacker::Open(std::shared_ptr<arrow::Array> tokens) {
  // A list of one row, so that policies and copies are those of the stage.
  const int64_t length = tokens->length();
  auto offsets = arrow::Buffer::FromVector(std::vector<int64_t>{0, length});
  auto list = std::make_shared<arrow::LargeListArray>(arrow::large_list(tokens->type()), 1,
                                                      std::move(offsets), std::move(tokens));
  auto schema = arrow::schema({arrow::field("input_ids", list->type())});
  ARROW_RETURN_NOT_OK(TokenColumn::CheckType("input_ids", *list->type()));
  auto rows = arrow::RecordBatch::Make(schema, 1, {list});
  ARROW_ASSIGN_OR_RAISE(auto stage, MakeMemoryStage({rows}, schema, "", "documents"));
  DocumentReader reader(std::move(stage), options_, {{"input_ids", FieldRule::kTokens, 0}});
  Document document;
  ARROW_ASSIGN_OR_RAISE(bool any, reader.Next(&document));
  const int64_t number = next_number_++;
  if (!any) return std::nullopt;
  auto batch = std::make_shared<DocumentBatch>(*document.batch);
  batch->batch.addresses = Addresses(nullptr, number, 1);
  document.batch = std::move(batch);
  return document;
}

Result<std::vector<Batch>> DocumentPacker::Add(std::shared_ptr<arrow::Array> tokens) {
  std::vector<Batch> rows;
  ARROW_ASSIGN_OR_RAISE(auto document, Open(std::move(tokens)));
  if (!document.has_value()) return rows;
  if (planner_ == nullptr) {
    ARROW_RETURN_NOT_OK(PutGreedily(*document, &rows));
    return rows;
  }
  ARROW_ASSIGN_OR_RAISE(const bool fits, planner_->Add(document->length, &plan_));
  window_.push_back(std::move(*document));
  ARROW_RETURN_NOT_OK(!fits || planner_->full() ? CloseWindow(false, &rows) : WritePlan(&rows));
  return rows;
}

Result<std::vector<Batch>> DocumentPacker::Flush() {
  std::vector<Batch> rows;
  if (planner_ != nullptr) {
    ARROW_RETURN_NOT_OK(CloseWindow(true, &rows));
    return rows;
  }
  writer_.CloseRow();
  if (writer_.full()) {
    ARROW_ASSIGN_OR_RAISE(Batch row, writer_.Finish());
    rows.push_back(std::move(row));
  }
  return rows;
}

Status DocumentPacker::PutGreedily(const Document& document, std::vector<Batch>* rows) {
  for (int64_t done = 0; done < document.length;) {
    const auto length =
        static_cast<int32_t>(std::min<int64_t>(writer_.room(), document.length - done));
    ARROW_RETURN_NOT_OK(writer_.Put(document, done, length));
    done += length;
    if (!writer_.full()) continue;
    ARROW_ASSIGN_OR_RAISE(Batch row, writer_.Finish());
    rows->push_back(std::move(row));
  }
  return Status::OK();
}

Status DocumentPacker::CloseWindow(bool last, std::vector<Batch>* rows) {
  const int64_t count = planner_->Close(rows_before_, last, &plan_);
  ARROW_RETURN_NOT_OK(WritePlan(rows));
  rows_before_ += std::exchange(window_rows_, 0);
  window_.erase(window_.begin(), window_.begin() + count);
  for (const Document& document : window_) {
    ARROW_RETURN_NOT_OK(planner_->Add(document.length, &plan_).status());
  }
  return Status::OK();
}

Status DocumentPacker::WritePlan(std::vector<Batch>* rows) {
  for (int64_t row = 0; row < plan_.num_rows(); ++row) {
    for (int64_t p = plan_.row_starts[row]; p < plan_.row_starts[row + 1]; ++p) {
      const Piece& piece = plan_.pieces[p];
      ARROW_RETURN_NOT_OK(writer_.Put(window_[piece.document], piece.offset, piece.length));
    }
    writer_.CloseRow();
    ARROW_ASSIGN_OR_RAISE(Batch batch, writer_.Finish());
    rows->push_back(std::move(batch));
  }
  window_rows_ += plan_.num_rows();
  plan_ = {};
  return Status::OK();
}

}  // namespace easydata::pack
