#include "easydata/trainer/example_maker.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "easydata/jinja/render_error.h"
#include "easydata/json/json_column.h"
#include "easydata/json/python_json.h"
#include "easydata/trainer/answers.h"

namespace easydata::trainer {

using jinja::Value;
using jinja::ValueKind;

namespace {

/// What a value is that is no text, for errors: of an object, its keys.
std::string Described(const Value& value) {
  if (value.Is(ValueKind::kNone)) return "nothing";
  if (!value.Is(ValueKind::kDict)) return "something else";
  std::string keys;
  for (uint32_t i = 0; i < value.size; ++i) {
    const Value& key = value.as.entries[i].key;
    if (!key.IsString()) continue;
    keys += (keys.empty() ? "'" : ", '") + std::string(key.Text()) + "'";
  }
  return "an object with " + (keys.empty() ? "no keys" : keys);
}

}  // namespace

Result<std::string_view> TextOf(const Value& value, std::string_view field) {
  if (value.IsString()) return value.Text();
  return Status::TypeError("field '", field, "' holds ", Described(value),
                           ", expected text or a list of messages (dicts with role and content)");
}

ColumnPaddings ExampleMaker::paddings(const TokenRoles& tokens) const {
  using Kind = ExampleWriter::Kind;
  ColumnPaddings paddings;
  for (const ExampleWriter::Column& column : columns()) {
    if (!column.is_list()) continue;
    ColumnPadding& padding = paddings[column.name];
    padding.left = column.left;
    padding.is_token = column.kind == Kind::kTokens;
    if (padding.is_token) padding.value = tokens.pad_id;
    if (column.kind == Kind::kLabels) padding.value = ignored_label();
  }
  return paddings;
}

bool ExampleMaker::keeps(std::string_view column) const {
  const auto& kept = example_options().keep_columns;
  return kept.has_value() && std::find(kept->begin(), kept->end(), column) != kept->end();
}

Result<std::optional<std::vector<int32_t>>> MaskOf(const chat::RowFields& fields,
                                                   std::string_view field, size_t num_tokens) {
  ARROW_ASSIGN_OR_RAISE(const Value value, fields.Get(field));
  std::optional<std::vector<int32_t>> mask;
  const auto is_flag = [](const Value& each) { return each.Is(ValueKind::kBoolean); };
  if (value.Is(ValueKind::kList) && value.size > 0 &&
      std::all_of(value.as.items, value.as.items + value.size, is_flag)) {
    mask.emplace();
    for (uint32_t i = 0; i < value.size; ++i) mask->push_back(value.as.items[i].as.boolean ? 1 : 0);
  } else {
    ARROW_ASSIGN_OR_RAISE(mask, IdsOf(fields, field));
  }
  if (mask.has_value() && mask->size() != num_tokens) {
    return Status::Invalid("field '", field, "' has ", mask->size(), " values for the ", num_tokens,
                           " of input_ids");
  }
  return mask;
}

Result<std::optional<std::vector<int32_t>>> IdsOf(const chat::RowFields& fields,
                                                  std::string_view field) {
  ARROW_ASSIGN_OR_RAISE(const Value value, fields.Get(field));
  if (value.Is(ValueKind::kNone)) return std::nullopt;
  const auto refuse = [&] {
    return Status::TypeError("field '", field, "' must hold token ids: a list of whole numbers");
  };
  if (!value.Is(ValueKind::kList)) return refuse();
  std::vector<int32_t> ids(value.size);
  for (uint32_t i = 0; i < value.size; ++i) {
    const Value& id = value.as.items[i];
    if (!id.Is(ValueKind::kInteger) || id.as.integer < std::numeric_limits<int32_t>::min() ||
        id.as.integer > std::numeric_limits<int32_t>::max()) {
      return refuse();
    }
    ids[i] = static_cast<int32_t>(id.as.integer);
  }
  return ids;
}

Result<std::optional<std::vector<std::vector<int32_t>>>> MadeColumns(
    const chat::RowFields& fields, const std::string& first,
    const std::vector<ExampleWriter::Column>& columns) {
  ARROW_ASSIGN_OR_RAISE(const Value begun, fields.Get(first));
  if (begun.Is(ValueKind::kNone)) return std::nullopt;
  std::vector<std::vector<int32_t>> made;
  for (const ExampleWriter::Column& column : columns) {
    if (!column.is_list()) {
      made.emplace_back();
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(auto ids, IdsOf(fields, column.name));
    if (!ids.has_value()) {
      return Status::KeyError("the row has '", first, "', but no '", column.name,
                              "', which it needs then");
    }
    made.push_back(*std::move(ids));
  }
  return made;
}

namespace {

/// What looks at a row that is read: both may be null.
struct Look {
  std::vector<ExplainedText>* explained = nullptr;
  std::set<std::string>* read = nullptr;
};

/// Reads one row of JSON, and makes nothing of it.
Status LookAtRow(const ExampleMaker& maker, const ExampleContext& context,
                 std::string_view json_row, const Look& look) {
  const auto text = std::make_shared<arrow::StringScalar>(std::string(json_row));
  ARROW_ASSIGN_OR_RAISE(const auto column, arrow::MakeArrayFromScalar(*text, 1));
  const auto rows =
      arrow::RecordBatch::Make(arrow::schema({json::JsonField(json::kRowColumn)}), 1, {column});
  jinja::Arena arena;
  chat::ValueReader reader;
  chat::RowFields fields(*rows, &reader);
  fields.KeepRead(look.read);
  RowChats chats(&context, maker.example_options(), &reader);
  TextPieces pieces;
  std::vector<chat::LostText> lost;
  if (look.explained != nullptr) chats.KeepLost(&lost);
  try {
    ARROW_RETURN_NOT_OK(fields.GoTo(0, &arena));
    ARROW_RETURN_NOT_OK(chats.GoTo(fields, &arena));
    const auto own = maker.For({{fields.Names()}});
    return (own == nullptr ? maker : *own)
        .Start()
        ->Read({0, fields, chats, pieces, look.explained});
  } catch (const jinja::RenderError& error) {
    return Status::Invalid(error.message);
  }
}

}  // namespace

Result<std::vector<ExplainedText>> ExplainRow(const ExampleMaker& maker,
                                              const ExampleContext& context,
                                              std::string_view json_row) {
  std::vector<ExplainedText> explained;
  ARROW_RETURN_NOT_OK(LookAtRow(maker, context, json_row, {.explained = &explained}));
  return explained;
}

Result<std::set<std::string>> FieldsRead(const ExampleMaker& maker, const ExampleContext& context,
                                         std::string_view json_row) {
  std::set<std::string> read;
  const Status status = LookAtRow(maker, context, json_row, {.read = &read});
  if (IsPairWithoutPrompt(status) || status.IsCancelled() || status.IsOutOfMemory()) return status;
  // A row of a schema has null where others have what they are tokenized to.
  std::string kind;
  std::vector<json::JsonMember> members;
  json::JsonFault fault;
  if (json::ReadPythonJson(json_row, &kind, &members, &fault)) {
    std::vector<std::string> names;
    for (const json::JsonMember& member : members) names.push_back(member.key);
    const auto own = maker.For({{std::move(names)}});
    if (own != nullptr) {
      for (const ExampleWriter::Column& column : own->columns()) read.insert(column.name);
    }
  }
  if (!status.ok()) {
    // Of a row in error nobody knows what would have been read.
    const std::vector<std::string> looked_at[] = {maker.fields(), maker.unnamed_fields()};
    for (const auto& names : looked_at) read.insert(names.begin(), names.end());
  }
  return read;
}

RowForms FormsOf(const arrow::RecordBatch& rows, std::vector<int64_t>* first_rows) {
  RowForms out;
  std::set<std::vector<std::string>> saying;
  jinja::Arena arena;
  chat::ValueReader reader;
  chat::RowFields fields(rows, &reader);
  for (int64_t row = 0; row < rows.num_rows(); ++row) {
    arena.Reset();
    if (!fields.GoTo(row, &arena).ok()) continue;
    std::vector<std::string> names = fields.Names();
    if (first_rows != nullptr) {
      if (saying.insert(fields.NamesSaying()).second) first_rows->push_back(row);
    }
    if (out.forms.empty() || out.forms.back() != names) out.forms.push_back(std::move(names));
  }
  return out;
}

Status NothingToRead(const chat::RowFields& fields, const char* expected) {
  std::string has;
  for (const std::string& name : fields.Names()) {
    has += (has.empty() ? "'" : ", '") + name + "'";
  }
  return Status::KeyError("the row has no ", expected, "; of the fields that are looked at it has ",
                          has.empty() ? "none" : has);
}

}  // namespace easydata::trainer
