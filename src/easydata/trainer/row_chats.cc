#include "easydata/trainer/row_chats.h"

#include <algorithm>

#include "easydata/chat/conversation.h"
#include "easydata/exec/notice.h"

namespace easydata::trainer {

using jinja::Value;
using jinja::ValueKind;

namespace {

/// What a field holds as JSON, of which each reader says what it cannot read as NotImplemented.
Result<Value> FieldOfJson(const char* field, Result<Value> read) {
  if (!read.status().IsNotImplemented()) return read;
  return Status::Invalid("field '", field, "' holds text that is ", read.status().message());
}

}  // namespace

Status RowChats::GoTo(const RowFields& fields, jinja::Arena* arena) {
  arena_ = arena;
  ARROW_ASSIGN_OR_RAISE(const Value tools, fields.Get("tools"));
  ARROW_ASSIGN_OR_RAISE(tools_, FieldOfJson("tools", chat::ReadTools(tools, reader_, arena)));
  ARROW_ASSIGN_OR_RAISE(const Value given, fields.Get("chat_template_kwargs"));
  ARROW_ASSIGN_OR_RAISE(options_,
                        FieldOfJson("chat_template_kwargs", reader_->Decoded(given, arena)));
  if (!options_.Is(ValueKind::kNone) && !options_.Is(ValueKind::kDict)) {
    return Status::TypeError(
        "field 'chat_template_kwargs' must hold an object: options of the template by name");
  }
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

Result<Value> RowChats::Read(const Value& value, std::string_view field) const {
  auto read = chat::ReadConversation(value,
                                     {.field = field,
                                      .roles = &context_->roles,
                                      .parse_arguments = options_of_chats_.parse_arguments,
                                      .habits = &habits_,
                                      .own_roles = &context_->own_roles},
                                     reader_, arena_);
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
  Value* items = arena_->Array<Value>(first.size + second.size);
  std::copy(first.as.items, first.as.items + first.size, items);
  std::copy(second.as.items, second.as.items + second.size, items + first.size);
  return Value::List(items, first.size + second.size);
}

Value RowChats::Slice(const Value& messages, uint32_t begin, uint32_t end) {
  return Value::List(messages.as.items + begin, end - begin);
}

Value RowChats::Single(std::string_view role, std::string_view content) const {
  auto* entries = arena_->Array<jinja::DictEntry>(2);
  entries[0] = {Value::String("role"), Value::String(role)};
  entries[1] = {Value::String("content"), Value::String(content)};
  Value* items = arena_->Array<Value>(1);
  items[0] = Value::Dict(entries, 2);
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
  return Status::OK();
}

}  // namespace easydata::trainer
