#include "easydata/trainer/chat_end.h"

#include <optional>
#include <string_view>
#include <vector>

#include "easydata/chat/chat_renderer.h"
#include "easydata/chat/column_values.h"

namespace easydata::trainer {
namespace {

constexpr std::string_view kChat =
    R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "ovalquince"}])";
constexpr std::string_view kAnswer = "ovalquince";

/// What a template prints behind an answer, without the white space at its end; nothing where it
/// refuses the chat, or prints the answer otherwise.
Result<std::optional<std::string>> PrintedBehind(const ExampleContext& context,
                                                 const jinja::Value& tools,
                                                 const jinja::Value& options, std::string* whole) {
  jinja::Arena arena;
  chat::ValueReader reader;
  chat::ChatRequest request;
  ARROW_ASSIGN_OR_RAISE(request.messages, reader.ReadJson(kChat, &arena));
  request.tools = tools;
  request.options = options;
  chat::RenderedChat rendered;
  const Status status = context.renderer->Render(request, &rendered);
  if (status.IsCancelled() || status.IsOutOfMemory()) return status;
  const size_t at = status.ok() ? rendered.text.rfind(kAnswer) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  *whole = std::move(rendered.text);
  whole->resize(whole->find_last_not_of(" \t\r\n") + 1);
  return whole->substr(at + kAnswer.size());
}

}  // namespace

Result<std::string> ChatEndNotice(const ExampleContext& context, const jinja::Value& tools,
                                  const jinja::Value& options) {
  const TokenRoles& tokens = context.tokens;
  if (context.renderer == nullptr || !tokens.eos_id.has_value()) return std::string();
  std::string text;
  ARROW_ASSIGN_OR_RAISE(const auto behind, PrintedBehind(context, tools, options, &text));
  if (!behind.has_value()) return std::string();
  ARROW_ASSIGN_OR_RAISE(const auto ids, EncodeText(*context.encoder, text, false));
  if (!ids.empty() && ids.back() == *tokens.eos_id) return std::string();
  const std::string eos = "'" + tokens.eos_text + "' (id " + std::to_string(*tokens.eos_id) + ")";
  if (!tokens.eos_text.empty() && behind->ends_with(tokens.eos_text)) {
    return "chats: the EOS token " + eos +
           " that the chat template prints after an answer is read as plain text there, so that a "
           "model does not learn to stop: " +
           (tokens.are_spelled
                ? "view=\"transformers\" runs AutoTokenizer's tokenizer, which may read it as one"
                : "split_special_tokens=True reads all that a template prints so, as transformers "
                  "does; leave it out for chats");
  }
  return "chats: the chat template ends an answer " +
         (behind->empty() ? std::string("with nothing") : "with '" + *behind + "'") +
         ", not with the tokenizer's EOS token " + eos +
         "; a model that is trained on such chats stops there only where its generation is told to "
         "(eos_token_id), or where eos_token of the tokenizer's configuration is what the template "
         "prints";
}

}  // namespace easydata::trainer
