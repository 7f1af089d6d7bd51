// Arbitrary JSON as the conversation of a row: it is refused in a sentence, or there are messages
// that templates can read, which read again are the same. A typed column of the same values must
// read as their JSON does.
//
// Byte 0 chooses the options; the JSON is the rest.

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/chat/assistant_turns.h"
#include "easydata/chat/claimed_messages.h"
#include "easydata/chat/column_values.h"
#include "easydata/chat/conversation.h"
#include "easydata/chat/row_conversation.h"
#include "easydata/jinja/python_text.h"
#include "easydata/jinja/template.h"
#include "easydata/json/json_columns.h"
#include "easydata/json/json_shape.h"
#include "easydata/json/json_text.h"
#include "finding.h"

namespace easydata::chat {
namespace {

using fuzz::Fail;
using jinja::Value;
using jinja::ValueKind;
using Json = nlohmann::json;

const RoleMapping kRoles = {{"human", "user"},    {"gpt", "assistant"},
                            {"user", "user"},     {"assistant", "assistant"},
                            {"system", "system"}, {"function_response", "tool"}};

void CheckStatus(const Status& status, std::string_view input) {
  using enum arrow::StatusCode;
  fuzz::CheckForeseen(status, {Invalid, TypeError, NotImplemented}, input);
}

std::string TextOf(const Value& value) {
  std::string text;
  jinja::AppendJson(value, {}, &text);
  return text;
}

std::optional<Json> Parsed(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  Json value = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

/// Objects without the keys that are null, as typed rows have them, and without what doubles
/// change.
Json WithoutNulls(const Json& value, bool* is_exact) {
  if (value.is_number_integer() && std::abs(value.get<double>()) > 9e15) *is_exact = false;
  if (!value.is_structured()) return value;
  Json out = value.is_object() ? Json::object() : Json::array();
  for (const auto& [key, item] : value.items()) {
    if (value.is_array()) out.push_back(WithoutNulls(item, is_exact));
    if (value.is_object() && !item.is_null()) out[key] = WithoutNulls(item, is_exact);
  }
  return out;
}

/// The values of a list as the rows of a typed column.
void CheckColumn(const Json& list, ValueReader* reader, std::string_view input) {
  json::JsonShape shape;
  bool is_exact = true;
  const Json expected = WithoutNulls(list, &is_exact);
  for (const Json& item : list) {
    const Status status = shape.Observe(item.dump(), "column");
    if (!status.ok()) return CheckStatus(status, input);
  }
  const auto type = shape.type("column");
  json::JsonColumnBuilder builder({{"column", type}}, /*closed=*/false);
  for (const Json& item : list) {
    const Status status = item.is_null() ? builder.AppendNull() : builder.AppendValue(item.dump());
    if (!status.ok()) return CheckStatus(status, input);
  }
  const auto columns = builder.Finish();
  if (!columns.ok()) return CheckStatus(columns.status(), input);
  const arrow::Array& column = *columns->at(0);
  if (const Status valid = column.ValidateFull(); !valid.ok()) Fail(valid.ToString(), input);
  if (column.length() != static_cast<int64_t>(list.size())) Fail("rows are missing", input);
  jinja::Arena arena;
  for (int64_t i = 0; i < column.length(); ++i) {
    const auto row = reader->ReadRow(column, i, /*is_json=*/false, &arena);
    CheckStatus(row.status(), input);
    if (!row.ok()) continue;
    std::string written;
    if (!json::AppendJsonValue(column, i, &written).ok()) Fail("a value is not written", input);
    const auto read = Parsed(TextOf(*row));
    if (is_exact && read != expected[static_cast<size_t>(i)]) {
      Fail("a typed value is " + TextOf(*row), input);
    }
  }
}

void CheckMessages(const Value& messages, std::string_view input) {
  for (uint32_t i = 0; i < messages.size; ++i) {
    const Value& message = messages.as.items[i];
    if (!message.Is(ValueKind::kDict)) Fail("a message is no dict", input);
    const Value* role = jinja::FindKey(message, "role");
    if (role == nullptr || !role->IsString()) Fail("a message without a role", input);
    const Value* content = jinja::FindKey(message, "content");
    if (content != nullptr && !content->IsString()) Fail("a content that is no text", input);
    for (uint32_t j = 0; j < message.size; ++j) {
      const jinja::DictEntry& entry = message.as.entries[j];
      if (entry.value.Is(ValueKind::kNone)) Fail("a key without a value", input);
      if (jinja::FindKey(message, entry.key.Text()) != &entry.value) Fail("a key twice", input);
    }
    CheckStatus(IsTrained(message).status(), input);
    (void)IsAssistant(message, kRoles);
    (void)SaidOf(message);
  }
  (void)CheckSaysSomething(messages, kRoles, "messages");
}

/// A row whose fields stand beside its conversation.
class Beside : public FieldGetter {
 public:
  explicit Beside(const Value& row) : row_(row) {}
  Result<Value> Get(std::string_view name) const override {
    const Value* found = jinja::FindKey(row_, name);
    return found == nullptr ? Value::None() : *found;
  }

 private:
  const Value row_;
};

void CheckBeside(const Value& row, ValueReader* reader, jinja::Arena* arena,
                 std::string_view input) {
  const Beside fields(row);
  CheckStatus(ToolsBeside(fields, reader, arena).status(), input);
  CheckStatus(OptionsBeside(fields, reader, arena).status(), input);
  const ConversationOptions options{.roles = &kRoles};
  const auto system = SystemBeside(fields, arena);
  CheckStatus(system.status(), input);
  const auto instruction = AnsweredInstruction(fields, reader, arena);
  CheckStatus(instruction.status(), input);
  if (!instruction.ok() || instruction->Is(ValueKind::kNone)) return;
  const auto messages = ReadConversation(*instruction, options, reader, arena);
  if (!messages.ok()) Fail("an instruction is " + messages.status().ToString(), input);
  CheckMessages(*messages, input);
  if (!system.ok() || system->Is(ValueKind::kNone)) return;
  const auto with_system = WithSystem(*system, *messages, arena);
  if (!with_system.ok() || with_system->size != messages->size + 1) {
    Fail("a system message is not before the others", input);
  }
}

void Check(const uint8_t* data, size_t size) {
  static ValueReader reader;
  if (size < 1) return;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  jinja::Arena arena;
  const auto value = reader.ReadJson(text, &arena);
  CheckStatus(value.status(), text);
  const auto known = Parsed(text);
  arrow::StringBuilder cells;
  if (!cells.Append(text).ok()) return;
  const auto column = cells.Finish().ValueOrDie();
  const auto row = reader.ReadRow(*column, 0, /*is_json=*/true, &arena);
  if (row.ok() != value.ok()) Fail("in a column it is " + row.status().ToString(), text);
  if (!value.ok()) return;
  if (known.has_value() && Parsed(TextOf(*value)) != known) Fail("it is " + TextOf(*value), text);
  if (TextOf(*row) != TextOf(*value)) Fail("in a column it is " + TextOf(*row), text);

  const ConversationOptions options{.roles = &kRoles, .parse_arguments = (data[0] & 1) != 0};
  const auto messages = ReadConversation(*value, options, &reader, &arena);
  CheckStatus(messages.status(), text);
  if (messages.ok()) {
    CheckMessages(*messages, text);
    const auto again = ReadConversation(*messages, options, &reader, &arena);
    if (!again.ok() || TextOf(*again) != TextOf(*messages)) {
      Fail("read again they are " + (again.ok() ? TextOf(*again) : again.status().ToString()) +
               ", not " + TextOf(*messages),
           text);
    }
    const Value marked = jinja::MarkMessages(*messages, kSaidFields, &arena);
    if (TextOf(marked) != TextOf(*messages)) Fail("marked they are others", text);
  }
  (void)AsMessages(*value, &reader, &arena);
  CheckStatus(ReadTools(*value, &reader, &arena).status(), text);
  if (value->Is(ValueKind::kDict)) CheckBeside(*value, &reader, &arena, text);
  if (known.has_value() && known->is_array()) CheckColumn(*known, &reader, text);
}

}  // namespace
}  // namespace easydata::chat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  easydata::chat::Check(data, size);
  return 0;
}
