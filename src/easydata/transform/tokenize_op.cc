#include "easydata/transform/tokenize_op.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/compute/cast.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <optional>
#include <semaphore>
#include <utility>

#include "easydata/base/nearest_name.h"
#include "easydata/json/json_column.h"
#include "easydata/stream/keep_rows.h"
#include "easydata/stream/row_error.h"

namespace easydata::transform {
namespace {

bool IsText(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return true;
    case arrow::Type::DICTIONARY:
      return IsText(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return false;
  }
}

/// The texts as a string or large_string array.
Result<std::shared_ptr<arrow::Array>> PlainTexts(const std::shared_ptr<arrow::Array>& column) {
  const auto id = column->type_id();
  if (id == arrow::Type::STRING || id == arrow::Type::LARGE_STRING) return column;
  return arrow::compute::Cast(*column, arrow::large_utf8());
}

std::shared_ptr<arrow::DataType> IdsType() {
  static const auto type = arrow::list(arrow::int32());
  return type;
}

class TokenizeOpImpl : public BatchOp {
 public:
  TokenizeOpImpl(std::shared_ptr<const tokenizers::TextEncoder> encoder, TokenizeOptions options)
      : encoder_(std::move(encoder)), options_(std::move(options)) {
    options_.encode.count_cut = true;
    if (options_.max_threads > 0) turns_.emplace(options_.max_threads);
  }

  const char* name() const override { return "tokenize"; }
  bool keeps_rows() const override { return !options_.skip_missing; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    const auto text = input->GetFieldByName(options_.column);
    if (text == nullptr) {
      return Status::KeyError("there is no column '", options_.column, "' to tokenize",
                              Suggestion(options_.column, input->field_names()),
                              "; name the text's column by content_field");
    }
    if (!IsText(*text->type()) || json::IsJsonField(*text)) {
      return Status::TypeError("column '", options_.column, "' holds ",
                               json::IsJsonField(*text) ? "JSON values" : text->type()->ToString(),
                               ", expected text; name the text's column by content_field");
    }
    arrow::FieldVector fields = {arrow::field("input_ids", IdsType())};
    if (options_.attention_mask) fields.push_back(arrow::field("attention_mask", IdsType()));
    for (const std::string& name : options_.keep) {
      const auto field = input->GetFieldByName(name);
      if (field != nullptr) fields.push_back(field);
    }
    return arrow::schema(std::move(fields));
  }

  Result<Batch> Apply(Batch batch) const override {
    ARROW_ASSIGN_OR_RAISE(auto schema, OutputSchema(batch.rows->schema()));
    ARROW_RETURN_NOT_OK(HandleMissing(&batch));
    ARROW_ASSIGN_OR_RAISE(auto texts, PlainTexts(batch.rows->GetColumnByName(options_.column)));
    ARROW_ASSIGN_OR_RAISE(auto ids, Encode(*texts, &batch));
    arrow::ArrayVector columns;
    std::shared_ptr<arrow::Array> mask;
    if (options_.pad_to > 0) {
      ARROW_ASSIGN_OR_RAISE(auto padded, Pad(*ids));
      std::tie(ids, mask) = std::move(padded);
    } else if (options_.attention_mask) {
      ARROW_ASSIGN_OR_RAISE(mask, Ones(*ids));
    }
    columns.push_back(ids);
    if (options_.attention_mask) columns.push_back(std::move(mask));
    for (int i = static_cast<int>(columns.size()); i < schema->num_fields(); ++i) {
      columns.push_back(batch.rows->GetColumnByName(schema->field(i)->name()));
    }
    batch.rows = arrow::RecordBatch::Make(std::move(schema), ids->length(), std::move(columns));
    return batch;
  }

 private:
  using Ids = std::shared_ptr<arrow::ListArray>;

  Status HandleMissing(Batch* batch) const {
    const auto column = batch->rows->GetColumnByName(options_.column);
    if (column->null_count() == 0) return Status::OK();
    std::vector<int64_t> keep;
    for (int64_t row = 0; row < column->length(); ++row) {
      if (column->IsValid(row)) {
        keep.push_back(row);
      } else if (!options_.skip_missing) {
        return RowError(batch->addresses.At(row),
                        "the row has no text in field '" + options_.column +
                            "'; name the text's field by content_field, or set "
                            "on_error=\"skip\" to leave such rows out and count them");
      }
    }
    ARROW_ASSIGN_OR_RAISE(*batch, KeepRows(*batch, keep, "missing"));
    return Status::OK();
  }

  /// Encodes the texts, source by source, so that cut documents are counted where they belong.
  Result<Ids> Encode(const arrow::Array& texts, Batch* batch) const {
    arrow::ArrayVector parts;
    const std::vector<Addresses::Run> runs = batch->addresses.runs();
    std::optional<Turn> turn;
    if (turns_.has_value()) turn.emplace(&*turns_);
    int64_t row = 0;
    int64_t used = 0;  // rows of runs[i] that are done
    for (size_t i = 0; i < runs.size();) {
      const std::string& source = runs[i].shard->source;
      const int64_t most = options_.rows_per_call > 0 ? options_.rows_per_call : INT64_MAX;
      int64_t rows = 0;
      while (i < runs.size() && rows < most && runs[i].shard->source == source) {
        const int64_t take = std::min(runs[i].count - used, most - rows);
        rows += take;
        used += take;
        if (used < runs[i].count) break;
        used = 0;
        ++i;
      }
      tokenizers::CutTexts cut;
      auto part = encoder_->EncodeBatch(*texts.Slice(row, rows), options_.encode, &cut);
      if (!part.ok()) return WithAddress(part.status(), texts, *batch, row, rows);
      DropCount count{source, kTruncatedReason, cut.texts, cut.ids};
      for (const int64_t i : cut.first_rows) count.AddAddress(batch->addresses.At(row + i));
      CountDropped(&batch->dropped, count);
      parts.push_back(std::move(*part));
      row += rows;
    }
    if (row != texts.length()) {
      return Status::Invalid("packed rows cannot be tokenized: they have no addresses");
    }
    std::shared_ptr<arrow::Array> all;
    if (parts.empty()) {
      ARROW_ASSIGN_OR_RAISE(all, encoder_->EncodeBatch(texts, options_.encode));
    } else if (parts.size() == 1) {
      all = std::move(parts[0]);
    } else {
      ARROW_ASSIGN_OR_RAISE(all, arrow::Concatenate(parts));
    }
    if (all->type_id() != arrow::Type::LIST) {
      return Status::CapacityError("one batch of texts gave more than 2^31 tokens");
    }
    return std::static_pointer_cast<arrow::ListArray>(all);
  }

  /// The encoder's error, at the row that it is about.
  Status WithAddress(const Status& error, const arrow::Array& texts, const Batch& batch,
                     int64_t first, int64_t rows) const {
    for (int64_t row = first; row < first + rows; ++row) {
      const Status one = encoder_->EncodeBatch(*texts.Slice(row, 1), options_.encode).status();
      if (!one.ok()) {
        return RowError(batch.addresses.At(row),
                        "field '" + options_.column + "': " + one.message(), one.code());
      }
    }
    return error;
  }

  static Result<std::shared_ptr<arrow::Array>> Ones(const arrow::ListArray& ids) {
    const int64_t begin = ids.value_offset(0);
    const int64_t end = ids.value_offset(ids.length());
    ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer((end - begin) * sizeof(int32_t)));
    auto* ones = reinterpret_cast<int32_t*>(buffer->mutable_data());
    std::fill(ones, ones + (end - begin), 1);
    auto values = std::make_shared<arrow::Int32Array>(end - begin, std::move(buffer));
    std::shared_ptr<arrow::Buffer> offsets;
    if (begin == 0) {
      // Lists of the same lengths: the offsets are shared.
      offsets = arrow::SliceBuffer(ids.value_offsets(), ids.offset() * sizeof(int32_t));
    } else {
      ARROW_ASSIGN_OR_RAISE(auto moved,
                            arrow::AllocateBuffer((ids.length() + 1) * sizeof(int32_t)));
      auto* out = reinterpret_cast<int32_t*>(moved->mutable_data());
      for (int64_t i = 0; i <= ids.length(); ++i) {
        out[i] = ids.value_offset(i) - static_cast<int32_t>(begin);
      }
      offsets = std::move(moved);
    }
    return std::make_shared<arrow::ListArray>(IdsType(), ids.length(), std::move(offsets),
                                              std::move(values));
  }

  Result<std::pair<Ids, Ids>> Pad(const arrow::ListArray& ids) const {
    const auto& values = static_cast<const arrow::Int32Array&>(*ids.values());
    auto id_builder = std::make_shared<arrow::Int32Builder>();
    auto mask_builder = std::make_shared<arrow::Int32Builder>();
    arrow::ListBuilder padded(arrow::default_memory_pool(), id_builder, IdsType());
    arrow::ListBuilder mask(arrow::default_memory_pool(), mask_builder, IdsType());
    const std::vector<int32_t> pads(options_.pad_to, options_.pad_id);
    const std::vector<int32_t> zeros(options_.pad_to, 0);
    for (int64_t row = 0; row < ids.length(); ++row) {
      const int32_t length = ids.value_length(row);
      const int64_t missing = std::max<int64_t>(0, options_.pad_to - length);
      ARROW_RETURN_NOT_OK(padded.Append());
      ARROW_RETURN_NOT_OK(mask.Append());
      if (options_.pad_left) {
        ARROW_RETURN_NOT_OK(id_builder->AppendValues(pads.data(), missing));
        ARROW_RETURN_NOT_OK(mask_builder->AppendValues(zeros.data(), missing));
      }
      ARROW_RETURN_NOT_OK(
          id_builder->AppendValues(values.raw_values() + ids.value_offset(row), length));
      for (int32_t i = 0; i < length; ++i) ARROW_RETURN_NOT_OK(mask_builder->Append(1));
      if (!options_.pad_left) {
        ARROW_RETURN_NOT_OK(id_builder->AppendValues(pads.data(), missing));
        ARROW_RETURN_NOT_OK(mask_builder->AppendValues(zeros.data(), missing));
      }
    }
    Ids out_ids, out_mask;
    ARROW_RETURN_NOT_OK(padded.Finish(&out_ids));
    ARROW_RETURN_NOT_OK(mask.Finish(&out_mask));
    return std::pair(std::move(out_ids), std::move(out_mask));
  }

  /// One of the threads that may encode at a time.
  struct Turn {
    explicit Turn(std::counting_semaphore<>* semaphore) : turns(semaphore) { turns->acquire(); }
    ~Turn() { turns->release(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    std::counting_semaphore<>* turns;
  };

  const std::shared_ptr<const tokenizers::TextEncoder> encoder_;
  TokenizeOptions options_;
  mutable std::optional<std::counting_semaphore<>> turns_;
};

}  // namespace

config::FieldList TokenizeOptions::Fields() {
  using O = TokenizeOptions;
  using Encode = tokenizers::EncodeOptions;
  return config::Joined(
      {{config::Field{
           "content_field", &O::column,
           "Column to tokenize. Text is tokenized; a list of messages is rendered by the chat "
           "template first."}},
       config::FieldsOf(
           &O::encode,
           {
               config::Field{
                   "add_special_tokens", &Encode::add_special_tokens,
                   "Add what the tokenizer's own post-processor adds, such as a BOS token."},
               config::Field{"max_length", &Encode::max_length,
                             "Tokens kept of a document; 0: all."},
           }),
       {
           config::Field{"return_attention_mask", &O::attention_mask,
                         "Write a column attention_mask."},
           config::Field{"pad_to", &O::pad_to,
                         "Tokens that shorter documents are filled up to; 0: none."},
           config::Field{"pad_token_id", &O::pad_id, "Token that they are filled with."}.Beside(
               "pad_to"),
           config::Field{"pad_left", &O::pad_left, "Fill them at their beginning."}.Beside(
               "pad_to"),
           config::Field{"additional_fields", &O::keep, "Columns kept along with the tokens."},
           config::Field{"skip_missing", &O::skip_missing,
                         "Leave rows without a text out, and count them."},
           config::Field{"batch_size", &O::rows_per_call,
                         "Texts given to the tokenizer at once, at most; 0: as they come."}
               .ForCompatibility("it is a bound that does not change the tokens"),
           config::Field{"num_workers", &O::max_threads,
                         "Threads that tokenize at a time, at most; 0: all."}
               .ForCompatibility("it is a bound that does not change the tokens"),
       }});
}

Result<std::shared_ptr<const BatchOp>> TokenizeOp(
    std::shared_ptr<const tokenizers::TextEncoder> encoder, TokenizeOptions options) {
  if (options.encode.max_length < 0 || options.pad_to < 0) {
    return Status::Invalid("max_length must not be negative");
  }
  for (const std::string& name : options.keep) {
    if (name == "input_ids" || name == "attention_mask") {
      return Status::Invalid("additional_fields names '", name,
                             "', which tokenizing makes itself; rename that field first");
    }
  }
  return std::make_shared<TokenizeOpImpl>(std::move(encoder), std::move(options));
}

}  // namespace easydata::transform
