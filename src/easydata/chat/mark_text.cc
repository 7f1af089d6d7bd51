#include "easydata/chat/mark_text.h"

#include <algorithm>
#include <charconv>

#include "easydata/chat/conversation.h"

namespace easydata::chat {

using Kind = jinja::Mark::Kind;

std::string MarkText(const jinja::Mark& mark, bool fields) {
  if (mark.kind == Kind::kMessage) return "message";
  if (mark.kind == Kind::kGeneration) return "generation";
  if (!fields) return "text";
  std::string text;
  uint8_t named = 0;
  for (const jinja::SourceField& field : kSaidFields) {
    if ((mark.sources & field.source & ~named) == 0) continue;
    named |= field.source;
    text += (text.empty() ? "" : "+") + std::string(field.name);
  }
  if (mark.call != jinja::Value::kAnyCall) text += "[" + std::to_string(mark.call) + "]";
  if (!text.empty()) return text;
  return mark.sources == 0 ? "text" : "other";
}

void ReadMarkText(std::string_view text, jinja::Mark* mark) {
  mark->kind = text == "message"      ? Kind::kMessage
               : text == "generation" ? Kind::kGeneration
                                      : Kind::kText;
  if (mark->kind != Kind::kText || text == "text") return;
  mark->sources = jinja::Value::kOther;
  if (const size_t number = text.find('['); number != text.npos) {
    std::from_chars(text.data() + number + 1, text.data() + text.size(), mark->call);
  }
  while (!text.empty()) {
    const size_t size = std::min(text.find('+'), text.size());
    for (const jinja::SourceField& field : kSaidFields) {
      const std::string_view name = text.substr(0, std::min(text.find('['), size));
      if (field.name == name) mark->sources |= field.source;
    }
    text.remove_prefix(std::min(size + 1, text.size()));
  }
}

}  // namespace easydata::chat
