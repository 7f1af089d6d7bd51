#include "easydata/transform/end_documents.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "easydata/stream/keep_rows.h"
#include "easydata/stream/row_error.h"
#include "easydata/transform/column_op.h"
#include "easydata/transform/tokenize_op.h"

namespace easydata::transform {
namespace {

constexpr NamedValue<LongDocument> kLongDocuments[] = {{"truncate", LongDocument::kTruncate},
                                                       {"split", LongDocument::kSplit},
                                                       {"error", LongDocument::kError}};

constexpr const char kColumn[] = "input_ids";

class EndDocumentsOp : public BatchOp {
 public:
  explicit EndDocumentsOp(const EndDocumentsOptions& options) : options_(options) {}

  const char* name() const override { return "end_documents"; }
  bool keeps_rows() const override { return options_.overlong != LongDocument::kSplit; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    const auto field = input->GetFieldByName(kColumn);
    if (field == nullptr || !field->type()->Equals(*arrow::list(arrow::int32()))) {
      return Status::TypeError("column 'input_ids' must be a list of 32-bit tokens; there is ",
                               field == nullptr ? "none" : field->type()->ToString());
    }
    return input;
  }

  Result<Batch> Apply(Batch batch) const override {
    ARROW_RETURN_NOT_OK(OutputSchema(batch.rows->schema()).status());
    const auto column = batch.rows->GetColumnByName(kColumn);
    Documents out;
    ARROW_RETURN_NOT_OK(Rewrite(static_cast<const arrow::ListArray&>(*column), &batch, &out));
    const auto rows = static_cast<int64_t>(out.ends.size()) - 1;
    if (rows != batch.num_rows()) {
      Batch split;
      std::swap(split.dropped, batch.dropped);
      ARROW_ASSIGN_OR_RAISE(Batch taken, batch.Take(out.rows));
      split.rows = std::move(taken.rows);
      split.watermark = std::move(taken.watermark);
      split.addresses = PartsOf(taken.addresses, out.rows);
      batch = std::move(split);
    }
    const auto num_tokens = static_cast<int64_t>(out.tokens.size());
    auto tokens = std::make_shared<arrow::Int32Array>(
        num_tokens, arrow::Buffer::FromVector(std::move(out.tokens)));
    auto ids = std::make_shared<arrow::ListArray>(arrow::list(arrow::int32()), rows,
                                                  arrow::Buffer::FromVector(std::move(out.ends)),
                                                  std::move(tokens));
    const auto schema = batch.rows->schema();
    const int index = schema->GetFieldIndex(kColumn);
    ARROW_ASSIGN_OR_RAISE(batch.rows,
                          batch.rows->SetColumn(index, schema->field(index), std::move(ids)));
    return batch;
  }

 private:
  struct Documents {
    std::vector<int32_t> tokens;
    std::vector<int32_t> ends = {0};
    std::vector<int64_t> rows;  // of the batch, that each is of
  };

  Status Rewrite(const arrow::ListArray& lists, Batch* batch, Documents* out) const {
    const auto& values = static_cast<const arrow::Int32Array&>(*lists.values());
    out->tokens.reserve(lists.value_offset(lists.length()) - lists.value_offset(0) +
                        3 * lists.length());
    for (int64_t row = 0; row < lists.length(); ++row) {
      const int32_t* const begin = values.raw_values() + lists.value_offset(row);
      const int64_t length = lists.value_length(row);
      const size_t first = out->tokens.size();
      if (options_.bos.has_value()) out->tokens.push_back(*options_.bos);
      out->tokens.insert(out->tokens.end(), begin, begin + length);
      if (options_.eos.has_value()) out->tokens.push_back(*options_.eos);
      ARROW_RETURN_NOT_OK(Cut(first, row, batch, out));
      const auto last = static_cast<int64_t>(out->tokens.size()) - out->ends.back();
      const bool is_ended = options_.eos.has_value() && options_.eos == options_.eod;
      if (options_.eod.has_value() && !is_ended && last < options_.max_length) {
        out->tokens.push_back(*options_.eod);
      }
      if (out->tokens.size() > INT32_MAX) {
        return Status::CapacityError("one batch of documents has more than 2^31 tokens");
      }
      out->ends.push_back(static_cast<int32_t>(out->tokens.size()));
      out->rows.push_back(row);
    }
    return Status::OK();
  }

  /// Cuts the document of the tokens from `first` on; its last part stays open.
  Status Cut(size_t first, int64_t row, Batch* batch, Documents* out) const {
    const auto length = static_cast<int64_t>(out->tokens.size() - first);
    if (length <= options_.max_length) return Status::OK();
    switch (options_.overlong) {
      case LongDocument::kError:
        return RowError(batch->AddressOf(row), "the document has " + std::to_string(length) +
                                                   " tokens, more than max_target_length, " +
                                                   std::to_string(options_.max_length) +
                                                   "; set overlong to \"truncate\" or \"split\"");
      case LongDocument::kTruncate: {
        out->tokens.resize(first + options_.max_length);
        const Address address = batch->AddressOf(row);
        DropCount count{address.shard == nullptr ? "" : address.shard->source, kTruncatedReason, 1,
                        length - options_.max_length};
        count.AddAddress(address);
        CountDropped(&batch->dropped, count);
        return Status::OK();
      }
      case LongDocument::kSplit:
        for (int64_t end = options_.max_length; end < length; end += options_.max_length) {
          out->ends.push_back(static_cast<int32_t>(first + end));
          out->rows.push_back(row);
        }
        return Status::OK();
    }
    return Status::OK();
  }

  /// The addresses of parts of rows: numbered within a row that has several.
  static Addresses PartsOf(const Addresses& addresses, const std::vector<int64_t>& rows) {
    Addresses out;
    for (size_t i = 0, part = 0; i < rows.size(); ++i) {
      part = i > 0 && rows[i] == rows[i - 1] ? part + 1 : 0;
      const bool is_split = part > 0 || (i + 1 < rows.size() && rows[i + 1] == rows[i]);
      const Address whole = addresses.At(static_cast<int64_t>(i));
      out.Append(whole.shard, whole.row, is_split ? static_cast<int32_t>(part) : whole.sub_row, 1);
    }
    return out;
  }

  const EndDocumentsOptions options_;
};

std::optional<int32_t> Token(const nlohmann::json& options, const char* name) {
  if (!options.contains(name) || options.at(name).is_null()) return std::nullopt;
  return options.at(name).get<int32_t>();
}

}  // namespace

std::span<const NamedValue<LongDocument>> NamesOf(LongDocument) { return kLongDocuments; }

Result<std::shared_ptr<const BatchOp>> EndDocuments(const EndDocumentsOptions& options) {
  const int around = options.bos.has_value() + options.eos.has_value();
  if (options.max_length <= around) {
    return Status::Invalid(
        "max_target_length must be more than the tokens that are added to a "
        "document, ",
        around, "; it is ", options.max_length);
  }
  return std::make_shared<EndDocumentsOp>(options);
}

const ColumnOpKind kEndDocumentsColumnOp = {
    "end_documents", [](const nlohmann::json& options) -> Result<std::shared_ptr<const BatchOp>> {
      EndDocumentsOptions parsed;
      parsed.max_length = options.at("max_length").get<int64_t>();
      parsed.bos = Token(options, "bos");
      parsed.eos = Token(options, "eos");
      parsed.eod = Token(options, "eod");
      ARROW_ASSIGN_OR_RAISE(parsed.overlong,
                            ParseName(NamesOf(LongDocument()), "way with long documents (overlong)",
                                      options.at("overlong").get<std::string>()));
      return EndDocuments(parsed);
    }};

}  // namespace easydata::transform
