#pragma once

#include "easydata/chat/chat_renderer.h"
#include "operators/lending.h"

namespace easydata {

/// Reads what a renderer in Python gives: (text, marks, whether texts are marked), of which marks
/// are [(kind, message, begin, end)], kinds "message", "generation", "text" or fields of messages.
/// Needs the GIL.
void ReadRendered(nb::handle made, chat::RenderedChat* out);

/// Renders by calling Python: render(messages, tools, options, add_generation_prompt, trace), of
/// JSON.
class PythonChatRenderer final : public chat::ChatRenderer {
 public:
  PythonChatRenderer(Borrowed render, bool has_generation)
      : render_(std::move(render)), has_generation_(has_generation) {}

  bool has_generation(bool with_tools) const override { return has_generation_; }
  Status Render(const chat::ChatRequest& request, chat::RenderedChat* out) const override;

 private:
  const Borrowed render_;
  const bool has_generation_;
};

}  // namespace easydata
