#include "easydata/trainer/example_maker.h"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <limits>

#include "easydata/jinja/render_error.h"
#include "easydata/json/json_column.h"

namespace easydata::trainer {

using jinja::Value;
using jinja::ValueKind;

Result<std::string_view> TextOf(const Value& value, std::string_view field) {
  if (value.IsString()) return value.Text();
  return Status::TypeError("field '", field, "' holds ",
                           value.Is(ValueKind::kNone) ? "nothing" : "something else",
                           ", expected text or a list of messages (dicts with role and content)");
}

Result<std::optional<std::vector<int32_t>>> IdsOf(const RowFields& fields, std::string_view field) {
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
    const RowFields& fields, const std::string& first,
    const std::vector<ExampleWriter::Column>& columns) {
  ARROW_ASSIGN_OR_RAISE(const Value begun, fields.Get(first));
  if (begun.Is(ValueKind::kNone)) return std::nullopt;
  std::vector<std::vector<int32_t>> made;
  for (const ExampleWriter::Column& column : columns) {
    if (column.kind == ExampleWriter::Kind::kFlag) {
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

Result<std::vector<ExplainedText>> ExplainRow(const ExampleMaker& maker,
                                              const ExampleContext& context,
                                              std::string_view json_row) {
  const auto text = std::make_shared<arrow::StringScalar>(std::string(json_row));
  ARROW_ASSIGN_OR_RAISE(const auto column, arrow::MakeArrayFromScalar(*text, 1));
  const auto rows =
      arrow::RecordBatch::Make(arrow::schema({json::JsonField(json::kRowColumn)}), 1, {column});
  jinja::Arena arena;
  chat::ValueReader reader;
  RowFields fields(*rows, &reader);
  RowChats chats(&context, maker.example_options(), &reader);
  TextPieces pieces;
  std::vector<ExplainedText> explained;
  std::vector<chat::LostText> lost;
  chats.KeepLost(&lost);
  try {
    ARROW_RETURN_NOT_OK(fields.GoTo(0, &arena));
    ARROW_RETURN_NOT_OK(chats.GoTo(fields, &arena));
    ARROW_RETURN_NOT_OK(maker.Start()->Read({0, fields, chats, pieces, &explained}));
  } catch (const jinja::RenderError& error) {
    return Status::Invalid(error.message);
  }
  return explained;
}

Status NothingToRead(const RowFields& fields, const char* expected) {
  std::string has;
  for (const std::string& name : fields.Names()) {
    has += (has.empty() ? "'" : ", '") + name + "'";
  }
  return Status::KeyError("the row has no ", expected, "; of the fields that are looked at it has ",
                          has.empty() ? "none" : has);
}

}  // namespace easydata::trainer
