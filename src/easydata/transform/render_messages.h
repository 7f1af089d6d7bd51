#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "easydata/chat/conversation.h"
#include "easydata/jinja/template.h"
#include "easydata/stream/batch_op.h"

namespace easydata::transform {

struct RenderMessagesOptions {
  /// The column of conversations: lists of structs, or JSON text.
  std::string messages = "messages";
  /// The column of tools that templates describe to the model, if there is one.
  std::string tools = "tools";
  /// The column that the text goes into.
  std::string text = "text";
  /// The columns of the result, `text` among them.
  std::vector<std::string> output = {};
  chat::RoleMapping roles = {};
  /// What the template may read beside messages and tools: special tokens and options.
  nlohmann::json variables = nlohmann::json::object();
};

/// Renders each row's conversation to text. A row without one has no text.
///
/// Rows that this op cannot render, or that are not as they should be, go to `fallback`, which
/// gives `text` for each of them, in their order, and may add a column at the end, as rows that it
/// refuses have (null in the others). `with_tools` is the template of rows that have tools.
Result<std::shared_ptr<const BatchOp>> RenderMessagesOp(
    RenderMessagesOptions options, std::shared_ptr<const jinja::Template> plain,
    std::shared_ptr<const jinja::Template> with_tools, std::shared_ptr<const BatchOp> fallback);

}  // namespace easydata::transform
