#include "easydata/trainer/assistant_mask.h"

#include <algorithm>

#include "easydata/jinja/unicode.h"

namespace easydata::trainer {
namespace {

using jinja::FindKey;
using jinja::Value;

/// The role of the last message before `message` that a model answers.
std::string_view RoleBefore(const Value& messages, uint32_t message) {
  while (message > 0) {
    const Value* role = FindKey(messages.as.items[--message], "role");
    if (role == nullptr || !role->IsString()) continue;
    if (role->Text() == "user" || role->Text() == "tool") return role->Text();
  }
  return "user";
}

}  // namespace

Status FindTrainedTurns(const Value& messages, const chat::RenderedChat& rendered,
                        const RowChats& chats, const ExampleContext& context, bool last_only,
                        GenerationPrompts* prompts, std::vector<TrainedTurn>* turns) {
  turns->clear();
  const bool has_tools = !chats.tools().Is(jinja::ValueKind::kNone);
  std::vector<chat::AssistantTurn> found;
  ARROW_RETURN_NOT_OK(chat::FindAssistantTurns(
      messages, rendered, context.renderer->has_generation(has_tools), context.roles, &found));
  if (last_only && found.size() > 1) {
    // Blocks of one message are one turn.
    const uint32_t last = found.back().message;
    const auto is_earlier = [&](const chat::AssistantTurn& turn) {
      return last == jinja::Mark::kUnknown ? &turn != &found.back() : turn.message != last;
    };
    std::vector<chat::AssistantTurn> kept;
    for (const chat::AssistantTurn& turn : found) {
      if (!is_earlier(turn)) kept.push_back(turn);
    }
    found = std::move(kept);
  }
  for (const chat::AssistantTurn& turn : found) {
    if (turn.message < messages.size) {
      ARROW_ASSIGN_OR_RAISE(const bool is_trained,
                            chat::IsTrained(messages.as.items[turn.message]));
      if (!is_trained) continue;
    }
    TrainedTurn trained = {turn, nullptr};
    if (!turn.is_exact) {
      ARROW_ASSIGN_OR_RAISE(trained.opening, prompts->Find(context, chats.tools(), chats.options(),
                                                           RoleBefore(messages, turn.message)));
    }
    turns->push_back(std::move(trained));
  }
  return Status::OK();
}

Status MaskTurns(std::string_view text, std::span<const int32_t> ids,
                 std::span<const TrainedTurn> turns, const SpanFinder& finder,
                 std::vector<int32_t>* mask) {
  mask->assign(ids.size(), 0);
  if (turns.empty() || ids.empty()) return Status::OK();
  static thread_local std::vector<size_t> ends;
  ARROW_RETURN_NOT_OK(finder.Find(text, ids, &ends));
  // The first token that reaches beyond a byte.
  const auto token_at = [&](size_t byte) {
    return static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), byte) - ends.begin());
  };
  for (const TrainedTurn& trained : turns) {
    const chat::AssistantTurn& turn = trained.turn;
    size_t begin = token_at(turn.begin);
    size_t end = turn.end;
    if (trained.opening != nullptr) {
      begin += CommonPrefix(*trained.opening, ids.subspan(std::min(begin, ids.size())));
      end = turn.begin + jinja::StripEnd(text.substr(turn.begin, turn.end - turn.begin)).size();
    }
    if (end <= turn.begin) continue;
    size_t last = token_at(end - 1);
    if (last >= ids.size()) continue;
    if (trained.opening != nullptr && last + 1 < ids.size() && !finder.IsSpecial(ids[last]) &&
        finder.IsSpecial(ids[last + 1])) {
      ++last;
    }
    for (size_t i = begin; i <= last; ++i) (*mask)[i] = 1;
    // Templates that end a conversation with EOS print it behind the last turn's own end.
    const bool ends_all = trained.opening != nullptr && &trained == &turns.back() &&
                          last + 1 < ids.size() && finder.IsSpecial(ids.back()) &&
                          jinja::StripStart(text.substr(end, ends[ids.size() - 2] - end)).empty();
    if (ends_all && last + 2 < ids.size()) mask->back() = 1;
  }
  return Status::OK();
}

}  // namespace easydata::trainer
