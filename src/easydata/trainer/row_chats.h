#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/chat_renderer.h"
#include "easydata/chat/claimed_messages.h"
#include "easydata/chat/column_values.h"
#include "easydata/chat/row_fields.h"
#include "easydata/jinja/value.h"
#include "easydata/trainer/example_context.h"
#include "easydata/trainer/example_options.h"

namespace easydata::trainer {

/// Reads the conversations of one row, and renders them with its own tools and options.
class RowChats {
 public:
  RowChats(const ExampleContext* context, const ExampleOptions& options, chat::ValueReader* reader)
      : context_(context), options_of_chats_(options), reader_(reader) {}

  /// Starts with a row: its `tools` and `chat_template_kwargs`.
  Status GoTo(const chat::RowFields& fields, jinja::Arena* arena);

  /// What a value holds if it is a conversation, or JSON text of one; else none.
  jinja::Value AsMessages(const jinja::Value& value) const;

  /// What a field holds: messages as Read makes them, also of a message alone, or another value.
  Result<jinja::Value> MessagesIn(std::string_view field) const;

  /// The conversation that a row has in one of `fields`, as Read makes it; none where it has none.
  /// `*field` is where.
  Result<jinja::Value> FindMessages(std::span<const std::string_view> fields,
                                    std::string_view* field) const;

  /// The messages of a field, as templates see them.
  Result<jinja::Value> Read(const jinja::Value& value, std::string_view field) const;

  /// The same of a field with answers to train on: Invalid (chat::IsEmptyAnswer) where one of them
  /// says nothing.
  Result<jinja::Value> ReadAnswered(const jinja::Value& value, std::string_view field) const;

  /// Messages as Read makes them, with the system message that the row has beside them before them.
  Result<jinja::Value> WithSystem(const jinja::Value& messages) const;

  /// Whether the row has a system message beside its texts, which makes them a chat.
  Result<bool> HasSystem() const;

  /// The messages of an instruction (chat::InstructionOf), or nothing.
  Result<std::optional<jinja::Value>> Instruction(std::string_view* answer) const;

  /// The same with the answer to it (chat::AnsweredInstruction), or none.
  Result<jinja::Value> AnsweredInstruction() const;

  /// One conversation of two parts.
  jinja::Value Join(const jinja::Value& first, const jinja::Value& second) const;

  /// Messages `begin` .. `end` of a conversation.
  static jinja::Value Slice(const jinja::Value& messages, uint32_t begin, uint32_t end);

  /// A conversation of one message.
  jinja::Value Single(std::string_view role, std::string_view content) const;

  /// Renders a conversation that a model answers: the prompt's text, and its marks for a `trace`.
  /// What the template leaves out is seen where the whole conversation is rendered.
  Status RenderPrompt(const jinja::Value& messages, chat::RenderedChat* out,
                      bool trace = false) const;

  /// The same of a prompt that is all there is: Invalid where its text does not come out.
  Status RenderAlone(const jinja::Value& messages, chat::RenderedChat* out) const;

  /// Renders a whole conversation: Invalid where something of its text does not come out, or the
  /// assistant says nothing (chat::IsEmptyAnswer).
  Status RenderWhole(const jinja::Value& messages, chat::RenderedChat* out) const;

  /// Has RenderWhole say what the last text lacks in `*lost`, where it would be an error; null: in
  /// an error.
  void KeepLost(std::vector<chat::LostText>* lost) { lost_ = lost; }
  const std::vector<chat::LostText>* lost() const { return lost_; }

  const chat::RoleMapping& roles() const { return context_->roles; }
  const jinja::Value& tools() const { return tools_; }
  const jinja::Value& options() const { return options_; }

 private:
  Status Render(const chat::ChatRequest& request, chat::RenderedChat* out) const;
  chat::ChatRequest RequestOf(const jinja::Value& messages) const;
  chat::ClaimOptions claims() const;
  /// How the conversation in a field is read.
  chat::ConversationOptions OptionsFor(std::string_view field) const;

  const ExampleContext* const context_;
  const ExampleOptions& options_of_chats_;
  chat::ValueReader* const reader_;
  const chat::RowFields* fields_ = nullptr;
  jinja::Arena* arena_ = nullptr;
  jinja::Value tools_ = jinja::Value::None();
  jinja::Value options_ = jinja::Value::None();
  chat::HabitsOfRow habits_ = {};
  std::vector<chat::LostText>* lost_ = nullptr;
};

}  // namespace easydata::trainer
