#pragma once

#include <string>
#include <string_view>

#include "easydata/base/status.h"
#include "easydata/chat/chat_renderer.h"
#include "easydata/chat/column_values.h"
#include "easydata/jinja/value.h"
#include "easydata/trainer/example_context.h"
#include "easydata/trainer/row_fields.h"

namespace easydata::trainer {

/// Reads the conversations of one row, and renders them with its own tools and options.
class RowChats {
 public:
  RowChats(const ExampleContext* context, bool parse_arguments, chat::ValueReader* reader)
      : context_(context), parse_arguments_(parse_arguments), reader_(reader) {}

  /// Starts with a row: its `tools` and `chat_template_kwargs`.
  Status GoTo(const RowFields& fields, jinja::Arena* arena);

  /// What a value holds if it is a conversation, or JSON text of one; else none.
  jinja::Value AsMessages(const jinja::Value& value) const;

  /// The messages of a field, as templates see them.
  Result<jinja::Value> Read(const jinja::Value& value, std::string_view field) const;

  /// One conversation of two parts.
  jinja::Value Join(const jinja::Value& first, const jinja::Value& second) const;

  /// Messages `begin` .. `end` of a conversation.
  static jinja::Value Slice(const jinja::Value& messages, uint32_t begin, uint32_t end);

  /// A conversation of one message.
  jinja::Value Single(std::string_view role, std::string_view content) const;

  /// Renders a conversation that a model answers: the prompt's text, and its marks for a `trace`.
  Status RenderPrompt(const jinja::Value& messages, chat::RenderedChat* out,
                      bool trace = false) const;

  /// Renders a whole conversation, whose text must come out: Invalid where it has none of what the
  /// assistant says (of what is said at all, where that is nothing).
  Status RenderWhole(const jinja::Value& messages, chat::RenderedChat* out) const;

  const jinja::Value& tools() const { return tools_; }
  const jinja::Value& options() const { return options_; }

 private:
  Status Render(const chat::ChatRequest& request, chat::RenderedChat* out) const;

  const ExampleContext* const context_;
  const bool parse_arguments_;
  chat::ValueReader* const reader_;
  jinja::Arena* arena_ = nullptr;
  jinja::Value tools_ = jinja::Value::None();
  jinja::Value options_ = jinja::Value::None();
};

}  // namespace easydata::trainer
