#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/chat_renderer.h"
#include "easydata/chat/conversation.h"
#include "easydata/jinja/value.h"

namespace easydata::chat {

/// What of a rendered text one assistant's message is.
struct AssistantTurn {
  uint32_t message = 0;
  size_t begin = 0;  // bytes of the text
  size_t end = 0;
  /// Printed by a `{% generation %}` block: just what the model writes. Else all of the turn, with
  /// what opens it.
  bool is_exact = false;
};

/// Finds what the assistant's messages are of a text that was rendered with a trace: the blocks of
/// `{% generation %}` if the template has them, else what was printed while a loop was at the
/// message.
///
/// Replaces *turns, in the order of the text; messages of which nothing was printed have none.
/// Invalid, saying why, where that cannot be told: a message is printed twice or outside of a loop,
/// or other messages are printed in its turn.
Status FindAssistantTurns(const jinja::Value& messages, const RenderedChat& rendered,
                          bool has_generation, const RoleMapping& roles,
                          std::vector<AssistantTurn>* turns);

/// Whether a message is to be trained on: its `weight`, `train`, `loss_weight` and `loss` are not 0
/// or false. TypeError where they are something else.
Result<bool> IsTrained(const jinja::Value& message);

}  // namespace easydata::chat
