#include "easydata/trainer/assistant_mask.h"

#include <algorithm>

#include "easydata/jinja/unicode.h"

namespace easydata::trainer {

using jinja::Value;

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
  OpeningFinder openings(messages, rendered, chats, context, prompts);
  for (const chat::AssistantTurn& turn : found) {
    if (turn.message < messages.size) {
      ARROW_ASSIGN_OR_RAISE(const bool is_trained,
                            chat::IsTrained(messages.as.items[turn.message]));
      if (!is_trained) continue;
    }
    TrainedTurn trained = {turn};
    if (!turn.is_exact) {
      ARROW_ASSIGN_OR_RAISE(trained.given, openings.Find(turn));
    }
    turns->push_back(trained);
  }
  return Status::OK();
}

size_t FirstWritten(std::span<const size_t> ends, size_t given) {
  const auto reaches = std::upper_bound(ends.begin(), ends.end(), given);
  const auto token = static_cast<size_t>(reaches - ends.begin());
  const bool is_over = reaches != ends.end() && (token == 0 ? 0 : ends[token - 1]) < given;
  return is_over ? token + 1 : token;
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
    if (!turn.is_exact) {
      begin = FirstWritten(ends, std::max(trained.given, turn.begin));
      end = turn.begin + jinja::StripEnd(text.substr(turn.begin, turn.end - turn.begin)).size();
    }
    if (end <= turn.begin) continue;
    size_t last = token_at(end - 1);
    if (last >= ids.size()) continue;
    if (!turn.is_exact && last + 1 < ids.size() && !finder.IsSpecial(ids[last]) &&
        finder.IsSpecial(ids[last + 1])) {
      ++last;
    }
    for (size_t i = begin; i <= last; ++i) (*mask)[i] = 1;
    // Templates that end a conversation with EOS print it behind the last turn's own end.
    const bool ends_all = !turn.is_exact && &trained == &turns.back() && last + 1 < ids.size() &&
                          finder.IsSpecial(ids.back()) &&
                          jinja::StripStart(text.substr(end, ends[ids.size() - 2] - end)).empty();
    if (ends_all && last + 2 < ids.size()) mask->back() = 1;
  }
  return Status::OK();
}

}  // namespace easydata::trainer
