#include "easydata/trainer/generation_prompts.h"

#include <utility>

#include "easydata/chat/column_values.h"
#include "easydata/jinja/python_text.h"

namespace easydata::trainer {
namespace {

using jinja::Value;
using jinja::ValueKind;

// Short conversations that a model is to answer.
constexpr std::string_view kAfterUser = R"([{"role": "user", "content": "a"}])";
constexpr std::string_view kAfterTool = R"([
  {"role": "user", "content": "a"},
  {"role": "assistant", "content": "", "tool_calls": [
    {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {}}}]},
  {"role": "tool", "name": "f", "tool_call_id": "call00001", "content": "b"}])";
constexpr std::string_view kTools = R"([{"type": "function", "function": {
  "name": "f", "description": "f", "parameters": {"type": "object", "properties": {}}}}])";

/// The tokens of a conversation's end that are there for the model's turn.
Result<std::vector<int32_t>> PromptAfter(const ExampleContext& context, std::string_view messages,
                                         bool has_tools, const Value& options) {
  jinja::Arena arena;
  chat::ValueReader reader;
  chat::ChatRequest request;
  ARROW_ASSIGN_OR_RAISE(request.messages, reader.ReadJson(messages, &arena));
  if (has_tools) {
    ARROW_ASSIGN_OR_RAISE(request.tools, reader.ReadJson(kTools, &arena));
  }
  request.options = options;
  chat::RenderedChat without;
  ARROW_RETURN_NOT_OK(context.renderer->Render(request, &without));
  request.add_generation_prompt = true;
  chat::RenderedChat with;
  ARROW_RETURN_NOT_OK(context.renderer->Render(request, &with));
  ARROW_ASSIGN_OR_RAISE(const auto shorter, EncodeText(*context.encoder, without.text, false));
  ARROW_ASSIGN_OR_RAISE(auto longer, EncodeText(*context.encoder, with.text, false));
  const size_t shared = CommonPrefix(shorter, longer);
  longer.erase(longer.begin(), longer.begin() + static_cast<std::ptrdiff_t>(shared));
  return longer;
}

}  // namespace

Result<std::shared_ptr<const std::vector<int32_t>>> GenerationPrompts::Find(
    const ExampleContext& context, const Value& tools, const Value& options,
    std::string_view after) {
  const bool has_tools = !tools.Is(ValueKind::kNone);
  const bool is_after_tool = after == "tool";
  std::string key = {has_tools ? 't' : '-', is_after_tool ? 't' : '-'};
  if (options.Is(ValueKind::kDict)) jinja::AppendJson(options, {}, &key);
  {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
  }
  Result<std::vector<int32_t>> found =
      PromptAfter(context, is_after_tool ? kAfterTool : kAfterUser, has_tools, options);
  if (!found.ok() && is_after_tool && !found.status().IsCancelled()) {
    found = PromptAfter(context, kAfterUser, has_tools, options);
  }
  ARROW_RETURN_NOT_OK(found.status());
  auto made = std::make_shared<const std::vector<int32_t>>(*std::move(found));
  const std::lock_guard lock(mutex_);
  return known_.emplace(std::move(key), std::move(made)).first->second;
}

}  // namespace easydata::trainer
