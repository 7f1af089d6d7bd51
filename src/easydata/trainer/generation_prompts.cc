#include "easydata/trainer/generation_prompts.h"

#include <algorithm>
#include <utility>

#include "easydata/chat/column_values.h"
#include "easydata/chat/conversation.h"
#include "easydata/jinja/python_text.h"
#include "easydata/trainer/answers.h"

namespace easydata::trainer {
namespace {

using jinja::Mark;
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

Result<GenerationPrompt> PromptBehind(const ExampleContext& context, std::string_view messages,
                                      bool has_tools, const Value& options) {
  jinja::Arena arena;
  chat::ValueReader reader;
  chat::ChatRequest request;
  ARROW_ASSIGN_OR_RAISE(const Value read, reader.ReadJson(messages, &arena));
  request.messages = jinja::MarkMessages(read, chat::kSaidFields, &arena);
  if (has_tools) {
    ARROW_ASSIGN_OR_RAISE(request.tools, reader.ReadJson(kTools, &arena));
  }
  request.options = options;
  chat::RenderedChat without;
  ARROW_RETURN_NOT_OK(context.renderer->Render(request, &without));
  request.add_generation_prompt = true;
  request.trace = true;
  chat::RenderedChat with;
  ARROW_RETURN_NOT_OK(context.renderer->Render(request, &with));
  GenerationPrompt prompt;
  prompt.added = with.text.substr(SharedPrefix(with.text, without.text).size());
  if (!with.has_text_marks) return prompt;
  size_t end = 0;
  for (const Mark& mark : with.marks) {
    if (mark.kind != Mark::Kind::kText || mark.end < end) continue;
    end = mark.end;
    prompt.has_tail = mark.message + 1 == read.size;
  }
  prompt.tail = with.text.substr(end);
  return prompt;
}

}  // namespace

Result<std::shared_ptr<const GenerationPrompt>> GenerationPrompts::Find(
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
  auto found = PromptBehind(context, is_after_tool ? kAfterTool : kAfterUser, has_tools, options);
  std::shared_ptr<const GenerationPrompt> made;
  if (found.ok()) {
    made = std::make_shared<const GenerationPrompt>(*std::move(found));
  } else if (found.status().IsCancelled() || found.status().IsOutOfMemory()) {
    return found.status();
  }
  const std::lock_guard lock(mutex_);
  return known_.emplace(std::move(key), std::move(made)).first->second;
}

}  // namespace easydata::trainer
