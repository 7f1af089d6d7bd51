#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/jinja/template.h"
#include "easydata/jinja/value.h"

namespace easydata::chat {

/// A conversation to render.
struct ChatRequest {
  /// As ReadConversation makes them, marked (jinja::MarkMessages) for a trace.
  jinja::Value messages = jinja::Value::None();
  /// A list of JSON schemas, or none.
  jinja::Value tools = jinja::Value::None();
  /// What else the template may read of this conversation: a dict, or none.
  jinja::Value options = jinja::Value::None();
  bool add_generation_prompt = false;
  /// Whether marks are wanted.
  bool trace = false;
};

struct RenderedChat {
  std::string text;
  std::vector<jinja::Mark> marks;  // in the order in which they end
  /// Whether there are marks of kind kText: without, nobody knows whose strings were printed.
  bool has_text_marks = false;
  /// Whether something of the tools is in the text, where that is known.
  bool knows_tools = false;
  bool shows_tools = false;
};

/// Makes the text of conversations by a chat template. Thread-safe.
class ChatRenderer {
 public:
  virtual ~ChatRenderer() = default;

  /// Replaces `*out`. Invalid, saying why, where the template refuses the conversation.
  virtual Status Render(const ChatRequest& request, RenderedChat* out) const = 0;

  /// Whether the template has `{% generation %}` blocks, which say what is trained.
  virtual bool has_generation(bool with_tools) const = 0;

  /// Whether what `add_generation_prompt` adds is known to depend on options alone, and on no
  /// message (HasPlainPrompt).
  virtual bool has_plain_prompt(bool with_tools) const { return false; }
};

/// What a template may read beside a conversation.
class ChatVariables {
 public:
  /// `json` is an object: special tokens and options, by name.
  static Result<std::shared_ptr<const ChatVariables>> Read(std::string_view json);

  const std::vector<jinja::Renderer::Variable>& all() const { return variables_; }

 private:
  jinja::Arena arena_;
  std::vector<jinja::Renderer::Variable> variables_;
};

/// Renders natively. `with_tools` is the template of conversations that have tools. What the engine
/// cannot render goes to `fallback`; where that is null it is NotImplemented.
std::shared_ptr<const ChatRenderer> NativeChatRenderer(
    std::shared_ptr<const jinja::Template> plain, std::shared_ptr<const jinja::Template> with_tools,
    std::shared_ptr<const ChatVariables> variables,
    std::shared_ptr<const ChatRenderer> fallback = nullptr);

}  // namespace easydata::chat
