#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "easydata/base/status.h"
#include "easydata/jinja/value.h"
#include "easydata/trainer/example_context.h"

namespace easydata::trainer {

/// What a chat template prints where a model is to answer a short conversation.
struct GenerationPrompt {
  /// From behind the text of the last message to the end: what ends that message, and what the
  /// model is given. Not there where nobody knows where that text is.
  bool has_tail = false;
  std::string tail;
  /// What is there with `add_generation_prompt` alone.
  std::string added;
};

/// Knows the prompts of a chat template, which depend on the template and its options and on no
/// row. Thread-safe.
class GenerationPrompts {
 public:
  /// The prompt behind a message of role "user" or "tool". Null where the template refuses the
  /// short conversation.
  Result<std::shared_ptr<const GenerationPrompt>> Find(const ExampleContext& context,
                                                       const jinja::Value& tools,
                                                       const jinja::Value& options,
                                                       std::string_view after);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const GenerationPrompt>> known_;
};

}  // namespace easydata::trainer
