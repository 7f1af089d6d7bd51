#pragma once

#include <memory>
#include <string>
#include <vector>

#include "easydata/chat/chat_renderer.h"
#include "easydata/chat/conversation.h"
#include "easydata/stream/batch_op.h"

namespace easydata::transform {

struct RenderMessagesOptions {
  /// The column of conversations: lists of structs, or JSON text. Empty: rows are instructions
  /// (chat::InstructionOf) with their answers.
  std::string messages = "messages";
  /// The column that the text goes into.
  std::string text = "text";
  /// The columns of the result, `text` among them.
  std::vector<std::string> output = {};
  chat::RoleMapping roles = {};
  /// Names of roles that the template itself has, sorted.
  std::vector<std::string> own_roles = {};
};

/// Renders each row's conversation to text, with what the row says beside it: its system message,
/// tools, and options of the template (chat/row_conversation.h). A row without one has no text.
///
/// Rows that this op cannot render, or that are not as they should be, go to `fallback`, which
/// gives `text` for each of them, in their order, and may add a column at the end, as rows that it
/// refuses have (null in the others).
Result<std::shared_ptr<const BatchOp>> RenderMessagesOp(
    RenderMessagesOptions options, std::shared_ptr<const chat::ChatRenderer> renderer,
    std::shared_ptr<const BatchOp> fallback);

}  // namespace easydata::transform
