#include "easydata/chat/row_conversation.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace easydata::chat {

using jinja::Arena;
using jinja::DictEntry;
using jinja::FindKey;
using jinja::Value;
using jinja::ValueKind;

namespace {

bool IsListOf(const Value& value, uint32_t size) {
  return (value.Is(ValueKind::kList) || value.Is(ValueKind::kTuple)) && value.size == size;
}

Value ListOf(const std::vector<Value>& values, Arena* arena) {
  Value* items = arena->Array<Value>(values.size());
  std::copy(values.begin(), values.end(), items);
  return Value::List(items, values.size());
}

/// What a field holds as JSON, of which each reader says what it cannot read as NotImplemented.
Result<Value> FieldOfJson(std::string_view field, Result<Value> read) {
  if (!read.status().IsNotImplemented()) return read;
  return Status::Invalid("field '", field, "' holds text that is ", read.status().message());
}

/// Adds the turns before an instruction.
Status AddHistory(const FieldGetter& row, ValueReader* reader, Arena* arena,
                  std::vector<Value>* messages) {
  ARROW_ASSIGN_OR_RAISE(const Value given, row.Get(kHistoryField));
  ARROW_ASSIGN_OR_RAISE(const Value history, reader->Decoded(given, arena));
  if (history.Is(ValueKind::kNone)) return Status::OK();
  const auto refuse = [] {
    return Status::TypeError(
        "field 'history' must hold the turns before the instruction: a list of pairs of texts");
  };
  if (!history.Is(ValueKind::kList) && !history.Is(ValueKind::kTuple)) return refuse();
  for (uint32_t i = 0; i < history.size; ++i) {
    const Value& turn = history.as.items[i];
    if (!IsListOf(turn, 2)) return refuse();
    const Value& asked = turn.as.items[0];
    const Value& answered = turn.as.items[1];
    if (!asked.IsString() || !answered.IsString()) return refuse();
    messages->push_back(MessageOf("user", asked, arena));
    messages->push_back(MessageOf("assistant", answered, arena));
  }
  return Status::OK();
}

}  // namespace

std::vector<std::string> FieldsBeside(bool instructions) {
  std::vector<std::string> names(std::begin(kSystemFields), std::end(kSystemFields));
  names.emplace_back(kOptionsField);
  if (!instructions) return names;
  for (const InstructionFields& fields : kInstructions) {
    for (const std::string_view name : {fields.instruction, fields.input, fields.answer}) {
      if (!name.empty()) names.emplace_back(name);
    }
  }
  names.emplace_back(kHistoryField);
  return names;
}

std::vector<std::string> MeaningfulFields() {
  std::vector<std::string> names = {
      std::string(kToolsField), std::string(kOptionsField), std::string(kHistoryField), "functions",
      "margin", "loss_weight", "labels", "loss_mask", "completion_mask", "assistant_masks",
      "kto_tag", "rejected_response", "rejected_messages",
      // What a picture or a sound says is in no token of ours.
      "image", "images", "audio", "audios", "video", "videos"};
  names.insert(names.end(), std::begin(kSystemFields), std::end(kSystemFields));
  names.insert(names.end(), std::begin(kReasoningFields), std::end(kReasoningFields));
  return names;
}

Value MessageOf(std::string_view role, const Value& content, Arena* arena) {
  auto* entries = arena->Array<DictEntry>(2);
  entries[0] = {Value::String("role"), Value::String(role)};
  entries[1] = {Value::String("content"), content};
  return Value::Dict(entries, 2);
}

Value JoinLists(const Value& first, const Value& second, Arena* arena) {
  Value* items = arena->Array<Value>(first.size + second.size);
  std::copy(first.as.items, first.as.items + first.size, items);
  std::copy(second.as.items, second.as.items + second.size, items + first.size);
  return Value::List(items, first.size + second.size);
}

Result<Value> SystemBeside(const FieldGetter& row, Arena* arena) {
  Value said = Value::None();
  std::string_view named;
  for (const std::string_view name : kSystemFields) {
    ARROW_ASSIGN_OR_RAISE(const Value value, row.Get(name));
    if (value.Is(ValueKind::kNone)) continue;
    if (!value.IsString()) {
      return Status::TypeError("field '", name,
                               "' beside a conversation must hold the text of its system message");
    }
    if (!HasText(value)) continue;
    if (named.empty()) {
      named = name;
      said = value;
    } else if (value.Text() != said.Text()) {
      return Status::Invalid("the row has two system messages, one in '", named, "' and one in '",
                             name, "': keep the one that is meant");
    }
  }
  if (named.empty()) return Value::None();
  const Value message = MessageOf(named == "developer" ? "developer" : "system", said, arena);
  return ListOf({message}, arena);
}

Result<Value> WithSystem(const Value& system, const Value& messages, Arena* arena) {
  if (system.Is(ValueKind::kNone)) return messages;
  const Value* role = messages.size == 0 ? nullptr : FindKey(messages.as.items[0], "role");
  if (role != nullptr && role->IsString() &&
      (role->Text() == "system" || role->Text() == "developer")) {
    const Value* own = FindKey(messages.as.items[0], "content");
    const Value* beside = FindKey(system.as.items[0], "content");
    if (own != nullptr && own->IsString() && own->Text() == beside->Text()) return messages;
    return Status::Invalid(
        "the row has two system messages, one in a field beside its conversation and one as the "
        "first message: keep the one that is meant");
  }
  return JoinLists(system, messages, arena);
}

Result<Value> WithSystemBeside(const FieldGetter& row, const Value& messages,
                               ConversationOptions options, ValueReader* reader, Arena* arena) {
  ARROW_ASSIGN_OR_RAISE(const Value given, SystemBeside(row, arena));
  if (given.Is(ValueKind::kNone)) return messages;
  options.field = kSystemFields[0];
  ARROW_ASSIGN_OR_RAISE(const Value system, ReadConversation(given, options, reader, arena));
  return WithSystem(system, messages, arena);
}

Result<Value> ConversationIn(const FieldGetter& row, std::string_view field, ValueReader* reader,
                             Arena* arena) {
  return field.empty() ? AnsweredInstruction(row, reader, arena) : row.Get(field);
}

Result<Value> ToolsBeside(const FieldGetter& row, ValueReader* reader, Arena* arena) {
  ARROW_ASSIGN_OR_RAISE(const Value given, row.Get(kToolsField));
  if (given.Is(ValueKind::kNone)) return given;
  return FieldOfJson(kToolsField, ReadTools(given, reader, arena));
}

Result<Value> OptionsBeside(const FieldGetter& row, ValueReader* reader, Arena* arena) {
  ARROW_ASSIGN_OR_RAISE(const Value given, row.Get(kOptionsField));
  if (given.Is(ValueKind::kNone)) return given;
  ARROW_ASSIGN_OR_RAISE(const Value options,
                        FieldOfJson(kOptionsField, reader->Decoded(given, arena)));
  if (options.Is(ValueKind::kNone) || options.Is(ValueKind::kDict)) return options;
  return Status::TypeError("field '", kOptionsField,
                           "' must hold an object: options of the template by name");
}

Result<std::optional<Value>> InstructionOf(const FieldGetter& row, ValueReader* reader,
                                           Arena* arena, std::string_view* answer) {
  for (const InstructionFields& fields : kInstructions) {
    ARROW_ASSIGN_OR_RAISE(Value asked, row.Get(fields.instruction));
    if (!asked.IsString()) continue;
    if (!fields.input.empty()) {
      ARROW_ASSIGN_OR_RAISE(const Value input, row.Get(fields.input));
      if (!input.Is(ValueKind::kNone) && !input.IsString()) {
        return Status::TypeError("field '", fields.input, "' beside '", fields.instruction,
                                 "' must hold text");
      }
      if (HasText(input)) {
        std::string both(asked.Text());
        both.append(both.empty() ? "" : "\n").append(input.Text());
        asked = Value::String(arena->Copy(both));
      }
    }
    std::vector<Value> messages;
    ARROW_RETURN_NOT_OK(AddHistory(row, reader, arena, &messages));
    messages.push_back(MessageOf("user", asked, arena));
    *answer = fields.answer;
    return ListOf(messages, arena);
  }
  return std::nullopt;
}

Result<Value> AnsweredInstruction(const FieldGetter& row, ValueReader* reader, Arena* arena) {
  std::string_view field;
  ARROW_ASSIGN_OR_RAISE(const auto asked, InstructionOf(row, reader, arena, &field));
  if (!asked.has_value()) return Value::None();
  ARROW_ASSIGN_OR_RAISE(const Value answer, row.Get(field));
  if (answer.Is(ValueKind::kNone)) return answer;
  if (!answer.IsString()) {
    return Status::TypeError("field '", field, "' must hold the text that answers an instruction");
  }
  return JoinLists(*asked, ListOf({MessageOf("assistant", answer, arena)}, arena), arena);
}

}  // namespace easydata::chat
