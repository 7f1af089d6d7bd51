#include "easydata/source/json_rows.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <simdjson.h>

#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "easydata/json/dom_parse.h"
#include "easydata/json/json_column.h"
#include "easydata/json/python_json.h"

namespace easydata::source {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kKeptParser = 8 << 20;

const char* KindOf(dom::element_type type) {
  switch (type) {
    case dom::element_type::ARRAY:
      return "list";
    case dom::element_type::OBJECT:
      return "object";
    case dom::element_type::STRING:
      return "string";
    case dom::element_type::BOOL:
      return "boolean";
    case dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "number";
  }
}

/// Parsers keep tables as large as their largest row: one for each worker, renewed after a giant
/// row.
dom::parser& WorkerParser() {
  thread_local std::optional<dom::parser> parser;
  if (!parser.has_value() || parser->capacity() > kKeptParser) parser.emplace();
  return *parser;
}

BadRow WrongType(const std::string& column, std::string_view found, const char* expected) {
  BadRow bad;
  bad.reason = "wrong type of field";
  bad.message = "field \"" + column + "\" holds a value of type " + std::string(found) +
                ", expected " + expected;
  return bad;
}

bool ParseTokens(std::string_view raw, std::vector<int32_t>* out) {
  const char* at = raw.data() + 1;
  const char* end = raw.data() + raw.size() - 1;
  auto space = [&] {
    while (at < end && (*at == ' ' || *at == ',' || *at == '\t' || *at == '\n' || *at == '\r'))
      ++at;
  };
  for (space(); at < end; space()) {
    int32_t value;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || (next < end && *next != ',' && *next != ' ' && *next != '\t' &&
                                 *next != '\n' && *next != '\r')) {
      return false;
    }
    out->push_back(value);
    at = next;
  }
  return true;
}

}  // namespace

std::shared_ptr<arrow::Schema> JsonRowSchema(const Columns& columns) {
  if (!columns.has_value()) return arrow::schema({json::JsonField(json::kRowColumn)});
  arrow::FieldVector fields;
  for (const ColumnRequest& column : *columns) {
    switch (column.kind) {
      case ColumnKind::kText:
        fields.push_back(arrow::field(column.name, arrow::utf8()));
        break;
      case ColumnKind::kTokens:
        fields.push_back(arrow::field(column.name, arrow::list(arrow::int32())));
        break;
      default:
        fields.push_back(json::JsonField(column.name));
    }
  }
  return arrow::schema(std::move(fields));
}

struct JsonRows::Impl {
  /// One requested column and what the row at hand has for it.
  struct Column {
    std::string name;
    ColumnKind kind;
    std::unique_ptr<arrow::StringBuilder> text;
    std::unique_ptr<arrow::ListBuilder> tokens;
    arrow::Int32Builder* token_values = nullptr;

    bool found = false;
    dom::element element;
    std::string_view raw;  // where the fast parser gave up
    std::vector<int32_t> row_tokens;
    std::string row_text;
    bool is_null = false;
  };

  std::shared_ptr<arrow::Schema> schema;
  std::vector<Column> columns;
  bool whole_rows = false;
  int64_t num_rows = 0;
  dom::parser& parser = WorkerParser();

  /// Checks the values found by the fast parser and readies what has to be converted.
  bool Check(BadRow* bad) {
    for (Column& column : columns) {
      column.is_null = !column.found || column.element.is_null();
      if (column.kind == ColumnKind::kAny || column.is_null) continue;
      if (column.kind == ColumnKind::kText) {
        if (column.element.is_string()) continue;
        *bad = WrongType(column.name, KindOf(column.element.type()), "string");
        return false;
      }
      column.row_tokens.clear();
      dom::array array;
      if (column.element.get(array) != simdjson::SUCCESS) {
        *bad = WrongType(column.name, KindOf(column.element.type()), "list of token ids");
        return false;
      }
      for (dom::element item : array) {
        int64_t value;
        if (!item.is_int64() || item.get(value) != simdjson::SUCCESS ||
            value < std::numeric_limits<int32_t>::min() ||
            value > std::numeric_limits<int32_t>::max()) {
          *bad = WrongType(column.name, "list with something else than 32-bit whole numbers",
                           "list of token ids");
          return false;
        }
        column.row_tokens.push_back(static_cast<int32_t>(value));
      }
    }
    return true;
  }

  /// The same for values given as text by the slow parser.
  bool CheckRaw(BadRow* bad) {
    for (Column& column : columns) {
      column.is_null = !column.found || column.raw == "null";
      if (column.kind == ColumnKind::kAny || column.is_null) continue;
      std::string kind;
      json::JsonFault fault;
      json::ReadPythonJson(column.raw, &kind, nullptr, &fault);
      if (column.kind == ColumnKind::kText) {
        if (kind != "string") {
          *bad = WrongType(column.name, kind, "string");
          return false;
        }
        if (!json::UnescapeJsonString(column.raw, &column.row_text)) {
          bad->reason = "not Unicode";
          bad->message =
              "field \"" + column.name +
              "\" holds half of a surrogate pair (\\ud800 to \\udfff alone), which is no "
              "character and has no UTF-8";
          return false;
        }
        continue;
      }
      column.row_tokens.clear();
      if (kind != "list") {
        *bad = WrongType(column.name, kind, "list of token ids");
        return false;
      }
      if (!ParseTokens(column.raw, &column.row_tokens)) {
        *bad = WrongType(column.name, "list with something else than 32-bit whole numbers",
                         "list of token ids");
        return false;
      }
    }
    return true;
  }

  Status AppendRow(bool raw) {
    ++num_rows;
    for (Column& column : columns) {
      if (column.kind == ColumnKind::kTokens) {
        if (column.is_null) {
          ARROW_RETURN_NOT_OK(column.tokens->AppendNull());
          continue;
        }
        ARROW_RETURN_NOT_OK(column.tokens->Append());
        ARROW_RETURN_NOT_OK(column.token_values->AppendValues(column.row_tokens));
      } else if (column.kind == ColumnKind::kText) {
        if (column.is_null) {
          ARROW_RETURN_NOT_OK(column.text->AppendNull());
        } else if (raw) {
          ARROW_RETURN_NOT_OK(column.text->Append(column.row_text));
        } else {
          ARROW_RETURN_NOT_OK(column.text->Append(column.element.get_string().value_unsafe()));
        }
      } else if (!column.found) {
        ARROW_RETURN_NOT_OK(column.text->AppendNull());
      } else {
        ARROW_RETURN_NOT_OK(column.text->Append(
            raw ? std::string(column.raw) : std::string(simdjson::minify(column.element))));
      }
    }
    return Status::OK();
  }
};

JsonRows::JsonRows(const Columns& columns, const std::shared_ptr<arrow::Schema>& schema,
                   size_t total_bytes, size_t max_bytes)
    : impl_(std::make_unique<Impl>()) {
  impl_->schema = schema;
  impl_->whole_rows = !columns.has_value();
  if (impl_->whole_rows) {
    auto& column = impl_->columns.emplace_back();
    column.text = std::make_unique<arrow::StringBuilder>();
  } else {
    for (const ColumnRequest& request : *columns) {
      auto& column = impl_->columns.emplace_back();
      column.name = request.name;
      column.kind = request.kind;
      if (request.kind == ColumnKind::kTokens) {
        auto values = std::make_shared<arrow::Int32Builder>();
        column.token_values = values.get();
        column.tokens =
            std::make_unique<arrow::ListBuilder>(arrow::default_memory_pool(), std::move(values));
      } else {
        column.text = std::make_unique<arrow::StringBuilder>();
      }
    }
  }
  // Reserved memory takes no pages until it is written; growing copies.
  for (auto& column : impl_->columns) {
    if (column.text != nullptr) (void)column.text->ReserveData(static_cast<int64_t>(total_bytes));
  }
  json::ReserveDom(&impl_->parser, max_bytes);  // a failure comes back when a row is parsed
}

JsonRows::~JsonRows() = default;

Result<bool> JsonRows::Append(std::string_view text, BadRow* bad) {
  Impl& impl = *impl_;
  dom::element row;
  const auto error = json::ParseDom(&impl.parser, text, /*is_padded=*/true, &row);
  if (error == simdjson::SUCCESS) {
    dom::object object;
    if (row.get(object) != simdjson::SUCCESS) {
      bad->reason = "not a JSON object";
      bad->message = std::string("the row is a ") + KindOf(row.type()) +
                     ", expected one JSON object with the fields of the row";
      return false;
    }
    if (impl.whole_rows) {
      ++impl.num_rows;
      ARROW_RETURN_NOT_OK(impl.columns[0].text->Append(text));
      return true;
    }
    for (auto& column : impl.columns) column.found = false;
    for (dom::key_value_pair member : object) {
      for (auto& column : impl.columns) {
        if (column.name.size() == member.key.size() && column.name == member.key) {
          column.found = true;  // the last of equal keys counts, as in Python
          column.element = member.value;
        }
      }
    }
    if (!impl.Check(bad)) return false;
    ARROW_RETURN_NOT_OK(impl.AppendRow(false));
    return true;
  }
  if (error == simdjson::MEMALLOC) return Status::OutOfMemory("no memory to parse a row of JSON");
  std::string kind;
  std::vector<json::JsonMember> members;
  json::JsonFault fault;
  if (!json::ReadPythonJson(text, &kind, &members, &fault)) {
    bad->reason = fault.message == "not UTF-8" ? "not UTF-8" : "not valid JSON";
    bad->message = bad->reason + " at byte " + std::to_string(fault.position + 1) + " of the row";
    if (fault.message != bad->reason) bad->message += ": " + fault.message;
    bad->message += "; expected one JSON object";
    return false;
  }
  if (kind != "object") {
    bad->reason = "not a JSON object";
    bad->message = "the row is a " + kind + ", expected one JSON object with the fields of the row";
    return false;
  }
  if (impl.whole_rows) {
    ++impl.num_rows;
    ARROW_RETURN_NOT_OK(impl.columns[0].text->Append(text));
    return true;
  }
  for (auto& column : impl.columns) {
    column.found = false;
    for (const json::JsonMember& member : members) {
      if (member.key == column.name) {
        column.found = true;
        column.raw = member.raw;
      }
    }
  }
  if (!impl.CheckRaw(bad)) return false;
  ARROW_RETURN_NOT_OK(impl.AppendRow(true));
  return true;
}

Result<std::shared_ptr<arrow::RecordBatch>> JsonRows::Finish() {
  arrow::ArrayVector arrays;
  for (auto& column : impl_->columns) {
    std::shared_ptr<arrow::Array> array;
    if (column.tokens != nullptr) {
      ARROW_RETURN_NOT_OK(column.tokens->Finish(&array));
    } else {
      ARROW_RETURN_NOT_OK(column.text->Finish(&array));
    }
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(impl_->schema, impl_->num_rows, std::move(arrays));
}

}  // namespace easydata::source
