#include "easydata/chat/chat_renderer.h"

#include <algorithm>

#include "easydata/chat/column_values.h"
#include "easydata/chat/plain_prompt.h"

namespace easydata::chat {
namespace {

using jinja::Renderer;
using jinja::Value;
using jinja::ValueKind;

class NativeRenderer final : public ChatRenderer {
 public:
  NativeRenderer(std::shared_ptr<const jinja::Template> plain,
                 std::shared_ptr<const jinja::Template> with_tools,
                 std::shared_ptr<const ChatVariables> variables,
                 std::shared_ptr<const ChatRenderer> fallback)
      : plain_(std::move(plain)),
        with_tools_(std::move(with_tools)),
        variables_(std::move(variables)),
        fallback_(std::move(fallback)),
        is_plain_{HasPlainPrompt(*plain_), HasPlainPrompt(*with_tools_)} {}

  bool has_generation(bool with_tools) const override {
    return (with_tools ? *with_tools_ : *plain_).has_generation();
  }

  bool has_plain_prompt(bool with_tools) const override { return is_plain_[with_tools ? 1 : 0]; }

  Status Render(const ChatRequest& request, RenderedChat* out) const override {
    static thread_local Renderer renderer;
    const bool has_tools = !request.tools.Is(ValueKind::kNone);
    const jinja::Template& compiled = has_tools ? *with_tools_ : *plain_;
    static thread_local std::vector<Renderer::Variable> variables;
    variables.assign({{"messages", request.messages},
                      {"tools", request.tools},
                      {"add_generation_prompt", Value::Boolean(request.add_generation_prompt)}});
    if (request.options.Is(ValueKind::kDict)) {
      for (uint32_t i = 0; i < request.options.size; ++i) {
        const jinja::DictEntry& entry = request.options.as.entries[i];
        if (IsGiven(variables, entry.key.Text())) continue;
        variables.push_back({entry.key.Text(), entry.value});
      }
    }
    for (const Renderer::Variable& variable : variables_->all()) {
      if (!IsGiven(variables, variable.name)) variables.push_back(variable);
    }
    jinja::RenderOptions options;
    options.trace = request.trace;
    if (compiled.uses_clock()) options.now = compiled.now();
    const jinja::RendererUse use(&renderer);
    const Status status = renderer.Render(compiled, variables, options);
    if (status.IsNotImplemented() && fallback_ != nullptr) return fallback_->Render(request, out);
    ARROW_RETURN_NOT_OK(status);
    renderer.Take(&out->text, &out->marks);
    out->has_text_marks = request.trace;
    out->knows_tools = request.trace;
    out->shows_tools = renderer.shows_tools();
    return Status::OK();
  }

 private:
  static bool IsGiven(const std::vector<Renderer::Variable>& variables, std::string_view name) {
    return std::any_of(variables.begin(), variables.end(),
                       [&](const Renderer::Variable& given) { return given.name == name; });
  }

  const std::shared_ptr<const jinja::Template> plain_;
  const std::shared_ptr<const jinja::Template> with_tools_;
  const std::shared_ptr<const ChatVariables> variables_;
  const std::shared_ptr<const ChatRenderer> fallback_;
  const bool is_plain_[2];
};

}  // namespace

Result<std::shared_ptr<const ChatVariables>> ChatVariables::Read(std::string_view json) {
  auto variables = std::make_shared<ChatVariables>();
  ValueReader reader;
  ARROW_ASSIGN_OR_RAISE(const Value read, reader.ReadJson(json, &variables->arena_));
  if (!read.Is(ValueKind::kDict)) {
    return Status::Invalid("what a chat template may read must be a JSON object");
  }
  for (uint32_t i = 0; i < read.size; ++i) {
    const jinja::DictEntry& entry = read.as.entries[i];
    variables->variables_.push_back({entry.key.Text(), entry.value});
  }
  return variables;
}

std::shared_ptr<const ChatRenderer> NativeChatRenderer(
    std::shared_ptr<const jinja::Template> plain, std::shared_ptr<const jinja::Template> with_tools,
    std::shared_ptr<const ChatVariables> variables, std::shared_ptr<const ChatRenderer> fallback) {
  return std::make_shared<NativeRenderer>(std::move(plain), std::move(with_tools),
                                          std::move(variables), std::move(fallback));
}

}  // namespace easydata::chat
