#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/assistant_turns.h"
#include "easydata/trainer/example_context.h"
#include "easydata/trainer/generation_prompts.h"
#include "easydata/trainer/row_chats.h"

namespace easydata::trainer {

/// Finds what of the assistant's turns of one conversation the model is given.
///
/// That is the prompt of the messages before the turn, rendered with `add_generation_prompt`, where
/// the text begins with it. A prompt may print earlier messages otherwise, as thoughts of theirs
/// are shown for as long as nobody has asked again: then what follows the last of them counts.
/// Where the two part within what opens the turn, the model is given what they share, if nothing
/// of the rest stands in the text; the rest may also stand there as a whole, further behind.
///
/// Rendering the beginning of a chat for each of its turns would take time by the square of its
/// length. What stands in a text between two messages is the prompt of a short conversation as a
/// rule: then it is taken, if what the model writes follows at once, or prompts are known not to
/// depend on messages. What else there is costs a rendering, up to a bound for each conversation.
class OpeningFinder {
 public:
  /// All arguments must outlive the finder; `rendered` is the text of `messages`.
  OpeningFinder(const jinja::Value& messages, const chat::RenderedChat& rendered,
                const RowChats& chats, const ExampleContext& context, GenerationPrompts* prompts);

  /// The byte of the text behind what the model is given. Invalid, saying why, where the turn opens
  /// otherwise than a model's.
  Result<size_t> Find(const chat::AssistantTurn& turn);

  /// The same by a prompt that is there already.
  Result<size_t> FindBy(const chat::AssistantTurn& turn, std::string_view prompt);

 private:
  struct Behind {
    bool is_known = false;
    std::shared_ptr<const GenerationPrompt> prompt;
  };
  /// What stands between two texts, of which a prompt was rendered.
  struct Known {
    std::string_view between;
    size_t given;  // bytes from its beginning
  };

  bool Follows(const chat::AssistantTurn& turn, size_t from) const;
  size_t FirstSaid(const chat::AssistantTurn& turn, size_t from) const;
  std::string_view RoleBefore(uint32_t message, uint32_t* asked) const;
  Result<const GenerationPrompt*> PromptBehind(std::string_view role);
  size_t BehindAdded(const chat::AssistantTurn& turn, size_t given, std::string_view added) const;
  Result<size_t> Compare(const chat::AssistantTurn& turn, size_t from,
                         std::string_view prompt) const;

  const jinja::Value& messages_;
  const chat::RenderedChat& rendered_;
  const std::string_view text_;
  const RowChats& chats_;
  const ExampleContext& context_;
  GenerationPrompts* const prompts_;
  const bool is_plain_;
  // In the order of their ends; none, where nobody knows whose texts were printed.
  std::span<const jinja::Mark> marks_;
  std::vector<jinja::Mark> sorted_;
  std::vector<std::string_view> texts_;  // of the message that is looked at
  Behind behind_user_;
  Behind behind_tool_;
  std::vector<Known> known_;
  size_t renderings_ = 0;
  size_t rendered_bytes_ = 0;
};

}  // namespace easydata::trainer
