#include "easydata/pack/document_reader.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "easydata/stream/gather_rows.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/row_error.h"

namespace easydata::pack {
namespace {

FieldRule RuleOf(const std::string& name) {
  if (name.size() >= 6 && name.substr(name.size() - 6) == "labels") return FieldRule::kLabels;
  if (name == "token_type_ids") return FieldRule::kTypes;
  return FieldRule::kMask;
}

std::string ColumnNames(const arrow::Schema& schema) {
  std::string names;
  for (const auto& field : schema.fields()) {
    if (!names.empty()) names += ", ";
    names += field->name();
  }
  return names.empty() ? "none" : names;
}

}  // namespace

Result<std::vector<TokenField>> FindTokenFields(const arrow::Schema& schema,
                                                const PackOptions& options) {
  std::vector<TokenField> fields;
  auto add = [&](const std::string& name, FieldRule rule, bool required) -> Status {
    for (const TokenField& field : fields) {
      if (field.name == name) return Status::OK();
    }
    const int column = schema.GetFieldIndex(name);
    if (column < 0) {
      if (!required) return Status::OK();
      return Status::KeyError("there is no column \"", name,
                              "\" to pack; tokenize first, or name the column of token ids in "
                              "input_field; the columns are: ",
                              ColumnNames(schema));
    }
    const auto& type = schema.field(column)->type();
    if (!required && type->id() == arrow::Type::NA) return Status::OK();
    ARROW_RETURN_NOT_OK(TokenColumn::CheckType(name, *type));
    fields.push_back({name, rule, column});
    return Status::OK();
  };
  ARROW_RETURN_NOT_OK(add(options.input_field, FieldRule::kTokens, true));
  const bool given = options.token_fields.has_value();
  for (const std::string& name : given ? *options.token_fields : DefaultTokenFields()) {
    ARROW_RETURN_NOT_OK(add(name, RuleOf(name), given));
  }
  return fields;
}

DocumentReader::DocumentReader(std::unique_ptr<Stage> upstream, PackSettings options,
                               std::vector<TokenField> fields)
    : upstream_(std::move(upstream)),
      options_(std::move(options)),
      strategy_(StrategyOf(options_.strategy)),
      fields_(std::move(fields)) {
  upstream_->SkipGathering();
}

Result<std::vector<TokenColumn>> DocumentReader::ColumnsOf(const Batch& part) const {
  std::vector<TokenColumn> columns;
  const auto schema = upstream_->schema();
  for (const TokenField& field : fields_) {
    ARROW_ASSIGN_OR_RAISE(auto array, ColumnOfPart(part, *schema->field(field.column)));
    if (array == nullptr) array = std::make_shared<arrow::NullArray>(part.num_rows());
    ARROW_ASSIGN_OR_RAISE(auto column, TokenColumn::Make(std::move(array)));
    columns.push_back(std::move(column));
  }
  return columns;
}

Address DocumentBatch::AddressOf(int64_t row) const {
  const RowRef ref = RefOf(row);
  const Addresses& addresses =
      batch.ungathered == nullptr ? batch.addresses : batch.ungathered->parts[ref.part]->addresses;
  return ref.row < addresses.size() ? addresses.At(ref.row) : Address{nullptr, row};
}

Status DocumentReader::Pull() {
  Cursor before = upstream_->Save();
  auto pulled = upstream_->Next();
  if (!pulled.ok()) {
    before_error_ = std::move(before);
    return pulled.status();
  }
  auto next = std::move(pulled).ValueUnsafe();
  if (batch_ != nullptr) watermark_ = batch_->batch.watermark.End();
  batch_ = nullptr;
  row_ = 0;
  if (!next.has_value()) {
    if (skip_ > 0) {
      return Status::Invalid("the stream ends before the saved position: its data changed since; ",
                             "resume with the data it was saved with; it ends ", skip_,
                             " documents before it");
    }
    ended_ = true;
    return Status::OK();
  }
  // What was dropped with rows that are skipped was counted before the restore.
  if (skip_ == 0) {
    dropped_.insert(dropped_.end(), next->dropped.begin(), next->dropped.end());
  }
  auto batch = std::make_shared<DocumentBatch>();
  if (next->ungathered == nullptr) {
    ARROW_ASSIGN_OR_RAISE(auto columns, ColumnsOf(*next));
    batch->columns.push_back(std::move(columns));
  } else {
    for (const auto& part : next->ungathered->parts) {
      ARROW_ASSIGN_OR_RAISE(auto columns, ColumnsOf(*part));
      batch->columns.push_back(std::move(columns));
    }
  }
  batch->batch = std::move(*next);
  batch->before = std::move(before);
  const int64_t skipped = std::min(skip_, batch->batch.num_rows());
  row_ = skipped;
  skip_ -= skipped;
  batch_ = std::move(batch);
  return Status::OK();
}

void DocumentReader::Count(const Address& address, const char* reason, int64_t rows,
                           int64_t tokens) {
  CountDropped(&dropped_, address, reason, rows, tokens);
}

Result<bool> DocumentReader::Accept(int64_t row, Document* document) {
  const RowRef ref = batch_->RefOf(row);
  const std::vector<TokenColumn>& columns = batch_->columns[ref.part];
  const TokenColumn& tokens = columns[0];
  if (tokens.IsNull(ref.row)) {
    return RowError(batch_->AddressOf(row),
                    "the row has no tokens in field \"" + fields_[0].name +
                        "\" to pack; tokenize first, or name the field of token ids in "
                        "input_field");
  }
  const int64_t length = tokens.Length(ref.row);
  if (length == 0) {
    Count(batch_->AddressOf(row), "empty", 1, 0);
    return false;
  }
  for (size_t i = 0; i < fields_.size(); ++i) {
    const TokenColumn& column = columns[i];
    if (i > 0 && column.IsNull(ref.row)) continue;
    const Status values = column.CheckValues(ref.row);
    if (!values.ok()) {
      return RowError(batch_->AddressOf(row),
                      "column \"" + fields_[i].name + "\" has " + values.message());
    }
    if (column.Length(ref.row) != length) {
      return RowError(batch_->AddressOf(row), "column \"" + fields_[i].name +
                                                  "\" must be as long as \"" + fields_[0].name +
                                                  "\" to be packed with it; it has " +
                                                  std::to_string(column.Length(ref.row)) +
                                                  " values, not " + std::to_string(length));
    }
  }
  if (row + 1 < batch_->batch.num_rows()) {
    const RowRef next = batch_->RefOf(row + 1);
    batch_->columns[next.part][0].PrefetchLast(next.row);
  }
  const Address address = batch_->AddressOf(row);
  const bool has_own_end = address.shard != nullptr && address.shard->has_own_ends;
  int32_t eos = 0;
  if (strategy_.adds_eos && !has_own_end) {
    ARROW_ASSIGN_OR_RAISE(eos, EosOf(address));
  }
  const bool closed =
      !strategy_.adds_eos || has_own_end || tokens.Value(ref.row, length - 1) == eos;
  int64_t kept = length;
  int64_t packed = length + (closed ? 0 : 1);
  const int64_t longest = options_.seq_length;
  if (packed > longest) {
    switch (options_.overlong) {
      case Overlong::kSplit:
        if (!strategy_.keeps_documents_whole) break;
        return TooLong(row, packed);
      case Overlong::kTruncate: {
        // A closing EOS of the document's own is not lost: it is written again.
        const int64_t end = strategy_.adds_eos && !has_own_end ? 1 : 0;
        kept = longest - end;
        packed = longest;
        Count(address, "truncated", 1, length - kept - (closed ? end : 0));
        break;
      }
      case Overlong::kDrop:
        Count(batch_->AddressOf(row), "overlong", 1, length);
        return false;
      case Overlong::kError:
        return TooLong(row, packed);
    }
  }
  *document = {batch_, row, kept, packed, ref, eos};
  return true;
}

Result<int32_t> DocumentReader::EosOf(const Address& address) const {
  if (options_.eos_token_id.has_value()) return *options_.eos_token_id;
  if (address.shard != nullptr && address.shard->eos_id.has_value()) return *address.shard->eos_id;
  return RowError(address,
                  "the tokens come from several tokenizers, and nothing says which one this "
                  "document is of, so that its EOS is not known; set eos_token_id");
}

Status DocumentReader::NoneFits(int64_t row) const {
  return RowError(batch_->AddressOf(row),
                  "none of the last " + std::to_string(kMaxLeftOut) +
                      " documents could be packed: they are empty, or too long for a row of " +
                      std::to_string(options_.seq_length) + " tokens and overlong is \"drop\"; " +
                      "the stream goes over its data for ever, so it looks as if no other came; " +
                      "set overlong=\"split\", or a larger seq_length");
}

Status DocumentReader::TooLong(int64_t row, int64_t length) const {
  std::string message = "the document does not fit into a row of ";
  message += std::to_string(options_.seq_length) + " tokens";
  if (strategy_.keeps_documents_whole) {
    message += ", and \"" + std::string(Name(options_.strategy)) + "\" cuts none; set overlong=";
  } else {
    message += "; set overlong=\"split\", ";
  }
  message += "\"truncate\" or \"drop\", or a larger seq_length; its length, ";
  message += strategy_.adds_eos ? "with the closing EOS" : "in tokens";
  message += ", is " + std::to_string(length);
  return RowError(batch_->AddressOf(row), message);
}

Result<bool> DocumentReader::Next(Document* document) {
  int64_t left_out = 0;
  while (!ended_) {
    if (batch_ == nullptr || row_ == batch_->batch.num_rows()) {
      ARROW_RETURN_NOT_OK(Pull());
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(bool accepted, Accept(row_, document));
    ++row_;
    if (accepted) return true;
    if (++left_out == kMaxLeftOut && options_.never_ends) return NoneFits(row_ - 1);
  }
  return false;
}

ReadPosition DocumentReader::Before(const Document& document) {
  return {document.batch->before, document.row};
}

ReadPosition DocumentReader::After() const {
  if (batch_ != nullptr && row_ < batch_->batch.num_rows()) return {batch_->before, row_};
  if (!before_error_.empty()) return {before_error_, 0};
  return {upstream_->Save(), 0};
}

Status DocumentReader::Restore(const ReadPosition& position) {
  skip_ = position.records;
  return upstream_->Restore(position.upstream.ToJson());
}

std::vector<DropCount> DocumentReader::TakeDropped() { return std::exchange(dropped_, {}); }

}  // namespace easydata::pack
