#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/assistant_turns.h"
#include "easydata/trainer/example_context.h"
#include "easydata/trainer/generation_prompts.h"
#include "easydata/trainer/row_chats.h"
#include "easydata/trainer/turn_openings.h"

namespace easydata::trainer {

/// A turn whose tokens are trained on, but for those that open it.
struct TrainedTurn {
  chat::AssistantTurn turn;
  /// The byte of the text behind what the model is given; of no use where the turn is exact.
  size_t given = 0;
};

/// Finds the turns of a rendered conversation that are trained on: of the assistant's all, or the
/// last one, but for those whose message says otherwise. Invalid where they cannot be told.
Status FindTrainedTurns(const jinja::Value& messages, const chat::RenderedChat& rendered,
                        const RowChats& chats, const ExampleContext& context, bool last_only,
                        GenerationPrompts* prompts, std::vector<TrainedTurn>* turns);

/// The first of the tokens that end at `ends` that the model writes, who is given the first `given`
/// bytes: a token that reaches over the border belongs to what it is given.
size_t FirstWritten(std::span<const size_t> ends, size_t given);

/// Replaces *mask by 1 for the tokens that the model writes, and 0 for the others.
///
/// A turn is trained from behind what the model is given of it to the end of its text without white
/// space; where that is no special token and the next token is one, that too ends the turn. So does
/// an EOS that ends the text, with nothing but white space before it. A token of an exact turn
/// counts when it overlaps.
Status MaskTurns(std::string_view text, std::span<const int32_t> ids,
                 std::span<const TrainedTurn> turns, const SpanFinder& finder,
                 std::vector<int32_t>* mask);

}  // namespace easydata::trainer
