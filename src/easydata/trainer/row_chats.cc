#include "easydata/trainer/row_chats.h"

#include <algorithm>

#include "easydata/chat/conversation.h"
#include "easydata/chat/row_conversation.h"
#include "easydata/exec/notice.h"
#include "easydata/trainer/chat_end.h"

namespace easydata::trainer {

using jinja::Value;
using jinja::ValueKind;

namespace {

/// Fields of a row that may be read later.
class Unread : public chat::FieldGetter {
 public:
  explicit Unread(const chat::RowFields& fields) : fields_(fields) {}
  Result<Value> Get(std::string_view name) const override { return fields_.LookAt(name); }

 private:
  const chat::RowFields& fields_;
};

/// A message alone as a list of it; other values stay.
Value AsList(const Value& value, jinja::Arena* arena) {
  if (!value.Is(ValueKind::kDict)) return value;
  if (jinja::FindKey(value, "role") == nullptr && jinja::FindKey(value, "from") == nullptr) {
    return value;
  }
  Value* item = arena->Array<Value>(1);
  *item = value;
  return Value::List(item, 1);
}

}  // namespace

Status RowChats::GoTo(const chat::RowFields& fields, jinja::Arena* arena) {
  arena_ = arena;
  fields_ = &fields;
  const Unread unread(fields);
  ARROW_ASSIGN_OR_RAISE(tools_, chat::ToolsBeside(unread, reader_, arena));
  ARROW_ASSIGN_OR_RAISE(options_, chat::OptionsBeside(unread, reader_, arena));
  if (context_->given != nullptr) {
    for (const jinja::Renderer::Variable& variable : context_->given->all()) {
      if (variable.name == "tools" && tools_.Is(ValueKind::kNone)) tools_ = variable.value;
    }
  }
  habits_ = {context_->habits.get(), tools_, options_};
  return Status::OK();
}

Value RowChats::AsMessages(const Value& value) const {
  return chat::AsMessages(value, reader_, arena_);
}

Result<Value> RowChats::MessagesIn(std::string_view field) const {
  ARROW_ASSIGN_OR_RAISE(const Value given, fields_->Get(field));
  const Value messages = AsMessages(AsList(given, arena_));
  if (messages.Is(ValueKind::kNone)) return given;
  return ReadAnswered(messages, field);
}

Result<Value> RowChats::FindMessages(std::span<const std::string_view> fields,
                                     std::string_view* field) const {
  for (const std::string_view name : fields) {
    ARROW_ASSIGN_OR_RAISE(const Value value, fields_->Get(name));
    const Value messages = AsMessages(value);
    if (messages.Is(ValueKind::kNone)) continue;
    *field = name;
    return Read(messages, name);
  }
  return Value::None();
}

Result<Value> RowChats::WithSystem(const Value& messages) const {
  return chat::WithSystemBeside(*fields_, messages, OptionsFor(""), reader_, arena_);
}

Result<bool> RowChats::HasSystem() const {
  for (const std::string_view name : chat::kSystemFields) {
    ARROW_ASSIGN_OR_RAISE(const Value value, fields_->LookAt(name));
    if (value.IsString() && chat::HasText(value)) return true;
  }
  return false;
}

Result<std::optional<Value>> RowChats::Instruction(std::string_view* answer) const {
  return chat::InstructionOf(*fields_, reader_, arena_, answer);
}

Result<Value> RowChats::AnsweredInstruction() const {
  return chat::AnsweredInstruction(*fields_, reader_, arena_);
}

chat::ConversationOptions RowChats::OptionsFor(std::string_view field) const {
  return {.field = field,
          .roles = &context_->roles,
          .parse_arguments = options_of_chats_.parse_arguments,
          .habits = &habits_,
          .own_roles = &context_->own_roles};
}

Result<Value> RowChats::Read(const Value& value, std::string_view field) const {
  if (!tools_.Is(ValueKind::kNone)) fields_->MarkRead(chat::kToolsField);
  if (!options_.Is(ValueKind::kNone)) fields_->MarkRead(chat::kOptionsField);
  auto read = chat::ReadConversation(value, OptionsFor(field), reader_, arena_);
  if (read.ok() || !read.status().IsNotImplemented()) return read;
  return Status::Invalid("field '", field,
                         "' holds text that is no JSON list of messages; expected messages (dicts "
                         "with role and content) or their JSON: ",
                         read.status().message());
}

Result<Value> RowChats::ReadAnswered(const Value& value, std::string_view field) const {
  ARROW_ASSIGN_OR_RAISE(const Value messages, Read(value, field));
  ARROW_RETURN_NOT_OK(chat::CheckSaysSomething(messages, context_->roles, field));
  return messages;
}

Value RowChats::Join(const Value& first, const Value& second) const {
  return chat::JoinLists(first, second, arena_);
}

Value RowChats::Slice(const Value& messages, uint32_t begin, uint32_t end) {
  return Value::List(messages.as.items + begin, end - begin);
}

Value RowChats::Single(std::string_view role, std::string_view content) const {
  Value* items = arena_->Array<Value>(1);
  items[0] = chat::MessageOf(role, Value::String(content), arena_);
  return Value::List(items, 1);
}

Status RowChats::Render(const chat::ChatRequest& request, chat::RenderedChat* out) const {
  if (context_->renderer == nullptr) {
    return Status::Invalid(
        "the row holds a chat, and the tokenizer has no chat template; give one as chat_template=");
  }
  const Status status = context_->renderer->Render(request, out);
  if (status.ok() || status.IsCancelled() || status.IsOutOfMemory()) return status;
  return status.WithMessage("the chat template refuses these messages: ", status.message());
}

Status RowChats::RenderPrompt(const Value& messages, chat::RenderedChat* out, bool trace) const {
  chat::ChatRequest request;
  request.messages = trace ? jinja::MarkMessages(messages, chat::kSaidFields, arena_) : messages;
  request.tools = tools_;
  request.options = options_;
  request.add_generation_prompt = true;
  request.trace = trace;
  return Render(request, out);
}

chat::ChatRequest RowChats::RequestOf(const Value& messages) const {
  chat::ChatRequest request;
  request.messages = jinja::MarkMessages(messages, chat::kSaidFields, arena_);
  if (!tools_.Is(ValueKind::kNone)) request.tools = jinja::MarkTools(tools_, arena_);
  request.options = options_;
  request.trace = true;
  return request;
}

chat::ClaimOptions RowChats::claims() const {
  return {.roles = &context_->roles,
          .habits = &habits_,
          .drops_reasoning = options_of_chats_.reasoning == Reasoning::kDrop};
}

Status RowChats::RenderAlone(const Value& messages, chat::RenderedChat* out) const {
  chat::ChatRequest request = RequestOf(messages);
  request.add_generation_prompt = true;
  ARROW_RETURN_NOT_OK(Render(request, out));
  return chat::CheckClaimed(request, *out, claims());
}

Status RowChats::RenderWhole(const Value& messages, chat::RenderedChat* out) const {
  ARROW_RETURN_NOT_OK(chat::CheckSaysSomething(messages, context_->roles, "messages"));
  const chat::ChatRequest request = RequestOf(messages);
  ARROW_RETURN_NOT_OK(Render(request, out));
  if (lost_ != nullptr) return chat::FindLostTexts(request, *out, claims(), lost_);
  ARROW_RETURN_NOT_OK(chat::CheckClaimed(request, *out, claims()));
  const auto strange = chat::StrangeRole(messages, context_->roles, &context_->own_roles);
  if (!strange.empty() && !context_->told_of_role.exchange(true)) {
    exec::Notify(chat::StrangeRoleNotice(strange));
  }
  if (!context_->looked_at_end.exchange(true)) {
    ARROW_ASSIGN_OR_RAISE(const std::string notice, ChatEndNotice(*context_, tools_, options_));
    if (!notice.empty()) exec::Notify(notice);
  }
  return Status::OK();
}

}  // namespace easydata::trainer
