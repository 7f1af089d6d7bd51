#include "easydata/transform/conform_columns.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <simdjson.h>

#include <string_view>

#include "easydata/base/character_codes.h"
#include "easydata/base/nearest_name.h"
#include "easydata/json/dom_parse.h"
#include "easydata/json/json_column.h"
#include "easydata/stream/row_error.h"

namespace easydata::transform {
namespace {

const char* JsonTypeName(std::string_view json) {
  switch (json.empty() ? ' ' : json.front()) {
    case '"':
      return "text";
    case '[':
      return "an array";
    case '{':
      return "an object";
    case 't':
    case 'f':
      return "a truth value";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

std::string WrongKind(const std::string& name, const char* expected, std::string_view json) {
  return "field '" + name + "' holds " + JsonTypeName(json) + ", expected " + expected;
}

/// The value of four hexadecimal digits, or -1.
int32_t HexQuad(std::string_view digits) {
  if (digits.size() < 4) return -1;
  int32_t value = 0;
  for (char c : digits.substr(0, 4)) {
    const int digit = HexDigit(c);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/// Resolves the escapes of the text inside a JSON string's quotes. False for bad escapes and for
/// lone surrogates, which UTF-8 cannot hold.
bool Unescape(std::string_view body, std::string* out) {
  out->clear();
  for (;;) {
    const size_t escape = body.find('\\');
    out->append(body.substr(0, escape));
    if (escape == std::string_view::npos) return true;
    if (escape + 1 >= body.size()) return false;
    const char kind = body[escape + 1];
    body.remove_prefix(escape + 2);
    static constexpr std::string_view kKinds = "\"\\/bfnrt";
    static constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    if (kind != 'u') {
      const size_t i = kKinds.find(kind);
      if (i == std::string_view::npos) return false;
      *out += kMeant[i];
      continue;
    }
    int32_t code = HexQuad(body);
    if (code < 0) return false;
    body.remove_prefix(4);
    if (code >= 0xD800 && code < 0xE000) {
      const bool high = code < 0xDC00;
      const int32_t low = high && body.substr(0, 2) == "\\u" ? HexQuad(body.substr(2)) : -1;
      if (low < 0xDC00 || low >= 0xE000) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      body.remove_prefix(6);
    }
    AppendUtf8(code, out);
  }
}

Result<std::shared_ptr<arrow::Array>> JsonToText(const Batch& batch, const std::string& name,
                                                 const arrow::StringArray& column) {
  arrow::StringBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Reserve(column.length()));
  ARROW_RETURN_NOT_OK(builder.ReserveData(column.total_values_length()));
  std::string text;
  for (int64_t row = 0; row < column.length(); ++row) {
    const std::string_view json = column.IsNull(row) ? "null" : column.GetView(row);
    if (json == "null") {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
      continue;
    }
    if (json.size() < 2 || json.front() != '"' || json.back() != '"') {
      return RowError(batch.AddressOf(row), WrongKind(name, "text", json),
                      arrow::StatusCode::TypeError);
    }
    if (!Unescape(json.substr(1, json.size() - 2), &text)) {
      return RowError(batch.AddressOf(row),
                      "field '" + name + "' holds a lone surrogate, which no UTF-8 text can");
    }
    ARROW_RETURN_NOT_OK(builder.Append(text));
  }
  return builder.Finish();
}

Result<std::shared_ptr<arrow::Array>> JsonToTokens(const Batch& batch, const std::string& name,
                                                   const arrow::StringArray& column) {
  auto tokens = std::make_shared<arrow::Int32Builder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), tokens, arrow::list(arrow::int32()));
  simdjson::dom::parser parser;
  for (int64_t row = 0; row < column.length(); ++row) {
    const std::string_view json = column.IsNull(row) ? "null" : column.GetView(row);
    if (json == "null") {
      ARROW_RETURN_NOT_OK(builder.AppendNull());
      continue;
    }
    ARROW_RETURN_NOT_OK(builder.Append());
    simdjson::dom::element element;
    const auto error = json::ParseDom(&parser, json, /*is_padded=*/false, &element);
    if (error == simdjson::MEMALLOC) {
      return RowError(batch.AddressOf(row), "there is no memory to parse field '" + name + "'",
                      arrow::StatusCode::OutOfMemory);
    }
    simdjson::dom::array values;
    bool good = error == simdjson::SUCCESS && element.get(values) == simdjson::SUCCESS;
    if (good) {
      for (simdjson::dom::element value : values) {
        int64_t id = 0;
        good = value.get(id) == simdjson::SUCCESS && id >= INT32_MIN && id <= INT32_MAX;
        if (!good) break;
        ARROW_RETURN_NOT_OK(tokens->Append(static_cast<int32_t>(id)));
      }
    }
    if (!good) {
      return RowError(batch.AddressOf(row), WrongKind(name, "a list of 32-bit token ids", json),
                      arrow::StatusCode::TypeError);
    }
  }
  return builder.Finish();
}

class ConformColumnsOp : public BatchOp {
 public:
  ConformColumnsOp(std::vector<ColumnRequest> columns, std::vector<std::string> known)
      : columns_(std::move(columns)), known_(std::move(known)) {}

  bool keeps_rows() const override { return true; }

  Result<std::shared_ptr<arrow::Schema>> OutputSchema(
      const std::shared_ptr<arrow::Schema>& input) const override {
    arrow::FieldVector fields;
    for (const ColumnRequest& request : columns_) {
      auto field = input->GetFieldByName(request.name);
      if (field == nullptr) {
        std::vector<std::string> names = input->field_names();
        names.insert(names.end(), known_.begin(), known_.end());
        return Status::KeyError("there is no column '", request.name, "'",
                                Suggestion(request.name, names));
      }
      if (json::IsJsonField(*field) && request.kind != ColumnKind::kAny) {
        field = arrow::field(request.name, request.kind == ColumnKind::kText
                                               ? arrow::utf8()
                                               : arrow::list(arrow::int32()));
      }
      fields.push_back(std::move(field));
    }
    return arrow::schema(std::move(fields));
  }

  Result<Batch> Apply(Batch batch) const override {
    ARROW_ASSIGN_OR_RAISE(auto schema, OutputSchema(batch.rows->schema()));
    arrow::ArrayVector columns;
    for (const ColumnRequest& request : columns_) {
      const int i = batch.rows->schema()->GetFieldIndex(request.name);
      auto column = batch.rows->column(i);
      if (json::IsJsonField(*batch.rows->schema()->field(i)) && request.kind != ColumnKind::kAny) {
        const auto& json = static_cast<const arrow::StringArray&>(*column);
        auto converted = request.kind == ColumnKind::kText
                             ? JsonToText(batch, request.name, json)
                             : JsonToTokens(batch, request.name, json);
        ARROW_ASSIGN_OR_RAISE(column, std::move(converted));
      }
      columns.push_back(std::move(column));
    }
    batch.rows = arrow::RecordBatch::Make(std::move(schema), batch.num_rows(), std::move(columns));
    return batch;
  }

 private:
  const std::vector<ColumnRequest> columns_;
  const std::vector<std::string> known_;
};

}  // namespace

std::shared_ptr<const BatchOp> ConformColumns(std::vector<ColumnRequest> columns,
                                              std::vector<std::string> known) {
  return std::make_shared<ConformColumnsOp>(std::move(columns), std::move(known));
}

}  // namespace easydata::transform
