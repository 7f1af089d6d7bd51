#include "easydata/chat/assistant_turns.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "easydata/jinja/unicode.h"

namespace easydata::chat {
namespace {

using jinja::FindKey;
using jinja::Mark;
using jinja::Value;
using jinja::ValueKind;

bool IsBlankText(std::string_view text) { return jinja::StripStart(text).empty(); }

std::string Numbered(uint32_t message) { return "messages[" + std::to_string(message) + "]"; }

/// The message in whose turn a stretch lies; kUnknown where there is none.
uint32_t MessageAround(const std::vector<Mark>& marks, size_t begin, size_t end) {
  for (const Mark& mark : marks) {
    if (mark.kind == Mark::Kind::kMessage && mark.begin <= begin && end <= mark.end) {
      return mark.message;
    }
  }
  return Mark::kUnknown;
}

Status FindGenerated(const Value& messages, const RenderedChat& rendered, const RoleMapping& roles,
                     std::vector<AssistantTurn>* turns) {
  for (const Mark& mark : rendered.marks) {
    if (mark.kind != Mark::Kind::kGeneration) continue;
    const uint32_t message = MessageAround(rendered.marks, mark.begin, mark.end);
    // A block within another one is a part of it.
    while (!turns->empty() && turns->back().begin >= mark.begin) turns->pop_back();
    turns->push_back({message, mark.begin, mark.end, /*is_exact=*/true});
  }
  // Blocks outside of a loop are those of the assistant's messages, in their order.
  std::vector<uint32_t> spoken;
  for (uint32_t i = 0; i < messages.size; ++i) {
    if (IsAssistant(messages.as.items[i], roles)) spoken.push_back(i);
  }
  const bool is_one_each = spoken.size() == turns->size();
  for (size_t i = 0; i < turns->size(); ++i) {
    AssistantTurn& turn = (*turns)[i];
    if (turn.message == Mark::kUnknown && is_one_each) turn.message = spoken[i];
  }
  return Status::OK();
}

}  // namespace

Status FindAssistantTurns(const Value& messages, const RenderedChat& rendered, bool has_generation,
                          const RoleMapping& roles, std::vector<AssistantTurn>* turns) {
  turns->clear();
  if (has_generation) return FindGenerated(messages, rendered, roles, turns);
  const std::string_view text = rendered.text;
  for (const Mark& mark : rendered.marks) {
    if (mark.kind != Mark::Kind::kMessage || mark.message >= messages.size ||
        !IsAssistant(messages.as.items[mark.message], roles)) {
      continue;
    }
    auto same = std::find_if(turns->begin(), turns->end(), [&](const AssistantTurn& turn) {
      return turn.message == mark.message;
    });
    if (same == turns->end()) {
      turns->push_back({mark.message, mark.begin, mark.end});
      continue;
    }
    // Loops within loops end first; parts that follow each other are one.
    if (mark.begin <= same->end && mark.end >= same->begin) {
      same->begin = std::min(same->begin, mark.begin);
      same->end = std::max(same->end, mark.end);
    } else if (!IsBlankText(text.substr(mark.begin, mark.end - mark.begin))) {
      if (IsBlankText(text.substr(same->begin, same->end - same->begin))) {
        *same = {mark.message, mark.begin, mark.end};
        continue;
      }
      return Status::Invalid("the chat template prints ", Numbered(mark.message),
                             " twice: which of the two is trained cannot be determined");
    }
  }
  std::sort(turns->begin(), turns->end(),
            [](const AssistantTurn& a, const AssistantTurn& b) { return a.begin < b.begin; });
  for (const Mark& mark : rendered.marks) {
    if (mark.kind == Mark::Kind::kGeneration) continue;
    for (const AssistantTurn& turn : *turns) {
      if (mark.message == turn.message || mark.begin < turn.begin || mark.end > turn.end) continue;
      if (mark.kind == Mark::Kind::kMessage &&
          IsBlankText(text.substr(mark.begin, mark.end - mark.begin))) {
        continue;
      }
      const std::string other =
          mark.message == Mark::kUnknown ? "other messages" : Numbered(mark.message);
      return Status::Invalid("the chat template prints ", other, " within the turn of ",
                             Numbered(turn.message),
                             ": what the model writes cannot be determined from it");
    }
  }
  if (!rendered.has_text_marks) return Status::OK();
  // A message whose text is printed, though not in a turn of its own.
  std::vector<uint8_t> printed(messages.size, 0);  // 1: somewhere, 2: in its turn
  for (const Mark& mark : rendered.marks) {
    if (mark.kind != Mark::Kind::kText || mark.message >= messages.size) continue;
    const bool is_in_turn = std::any_of(turns->begin(), turns->end(), [&](const auto& turn) {
      return turn.message == mark.message && turn.begin <= mark.begin && mark.end <= turn.end;
    });
    printed[mark.message] = std::max<uint8_t>(printed[mark.message], is_in_turn ? 2 : 1);
  }
  for (uint32_t i = 0; i < messages.size; ++i) {
    if (printed[i] != 1 || !IsAssistant(messages.as.items[i], roles)) continue;
    return Status::Invalid("the chat template prints ", Numbered(i),
                           " outside of a loop over messages: its turn cannot be determined");
  }
  return Status::OK();
}

Result<bool> IsTrained(const Value& message) {
  // OpenAI's and Mistral's, Axolotl's, LLaMA-Factory's, ms-swift's.
  for (const std::string_view name : {"weight", "train", "loss_weight", "loss"}) {
    const Value* value = FindKey(message, name);
    if (value == nullptr || value->Is(ValueKind::kNone)) continue;
    bool is_trained = true;
    if (value->Is(ValueKind::kBoolean)) {
      is_trained = value->as.boolean;
    } else if (value->Is(ValueKind::kInteger) &&
               (value->as.integer == 0 || value->as.integer == 1)) {
      is_trained = value->as.integer == 1;
    } else if (value->Is(ValueKind::kFloat) &&
               (value->as.number == 0.0 || value->as.number == 1.0)) {
      is_trained = value->as.number == 1.0;
    } else {
      return Status::TypeError(
          "a message's '", name,
          "' must be 0 or 1 (or false or true): whether it is trained on. There are "
          "no weights between");
    }
    if (!is_trained) return false;
  }
  return true;
}

}  // namespace easydata::chat
