#include "easydata/chat/conversation.h"

#include "easydata/jinja/unicode.h"

namespace easydata::chat {
namespace {

using jinja::Arena;
using jinja::DictEntry;
using jinja::FindKey;
using jinja::Value;
using jinja::ValueKind;

// What a model thought, under the names that templates read it by; the first is the standard one.
constexpr std::string_view kReasoning[] = {"reasoning_content", "thinking", "reasoning"};

Status NotUsual(const char* what) { return Status::NotImplemented(what); }

std::string Lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

bool HasText(const Value& value) {
  switch (value.kind) {
    case ValueKind::kString:
      return !jinja::StripStart(value.Text()).empty();
    case ValueKind::kList:
      for (uint32_t i = 0; i < value.size; ++i) {
        if (HasText(value.as.items[i])) return true;
      }
      return false;
    case ValueKind::kDict:
      for (uint32_t i = 0; i < value.size; ++i) {
        if (HasText(value.as.entries[i].value)) return true;
      }
      return false;
    default:
      return false;
  }
}

bool SaysSomething(const Value& message) {
  for (const std::string_view name : kSaidFields) {
    const Value* said = FindKey(message, name);
    if (said != nullptr && HasText(*said)) return true;
  }
  return false;
}

/// The text of a message's content: a string, or a list of strings and text parts.
Result<Value> ReadContent(const Value& content, Arena* arena) {
  if (content.IsString()) return content;
  if (!content.Is(ValueKind::kList)) return NotUsual("content that is no text");
  std::string joined;
  for (uint32_t i = 0; i < content.size; ++i) {
    const Value& part = content.as.items[i];
    if (part.IsString()) {
      joined += part.Text();
      continue;
    }
    if (!part.Is(ValueKind::kDict)) return NotUsual("a part that is no text");
    const Value* type = FindKey(part, "type");
    const Value* text = FindKey(part, "text");
    const bool is_text = type == nullptr || type->Is(ValueKind::kNone) ||
                         (type->IsString() && type->Text() == "text");
    if (!is_text || text == nullptr || !text->IsString()) return NotUsual("a part without text");
    joined += text->Text();
  }
  return Value::String(arena->Copy(joined));
}

Result<Value> ReadMessage(const Value& given, const RoleMapping& roles, ValueReader* reader,
                          Arena* arena) {
  if (!given.Is(ValueKind::kDict)) return NotUsual("a message that is no dict");
  const Value* from = FindKey(given, "from");
  const Value* value = FindKey(given, "value");
  const bool is_from_value = from != nullptr && value != nullptr && !from->Is(ValueKind::kNone) &&
                             !value->Is(ValueKind::kNone);
  auto* entries = arena->Array<DictEntry>(given.size + 4);
  size_t count = 0;
  const Value* thought = nullptr;
  for (const std::string_view name : kReasoning) {
    const Value* found = FindKey(given, name);
    if (found == nullptr || found->Is(ValueKind::kNone)) continue;
    thought = found;
    break;
  }
  const auto add = [&](std::string_view name, const Value& item) {
    for (size_t i = 0; i < count; ++i) {
      if (entries[i].key.Text() == name) {
        entries[i].value = item;
        return;
      }
    }
    entries[count++] = {Value::String(name), item};
  };
  if (thought != nullptr) add("thinking", *thought);
  bool has_role = false;
  for (uint32_t i = 0; i < given.size; ++i) {
    const DictEntry& entry = given.as.entries[i];
    if (!entry.key.IsString()) return NotUsual("a key that is no text");
    const std::string_view name = entry.key.Text();
    if (entry.value.Is(ValueKind::kNone)) continue;
    if (is_from_value && (name == "from" || name == "value")) continue;
    if (name == "role") {
      if (!entry.value.IsString()) return NotUsual("a role that is no text");
      has_role = true;
    }
    Value item = entry.value;
    if (name == "content") {
      ARROW_ASSIGN_OR_RAISE(item, ReadContent(item, arena));
    } else if (name == "tool_calls") {
      ARROW_ASSIGN_OR_RAISE(item, reader->Decoded(item, arena));
    }
    add(name, item);
  }
  if (is_from_value) {
    if (!from->IsString()) return NotUsual("a speaker that is no text");
    auto role = roles.find(from->Text());
    if (role == roles.end()) {
      if (!jinja::IsAscii(from->Text())) return NotUsual("an unknown speaker");
      role = roles.find(Lowered(jinja::StripStart(jinja::StripEnd(from->Text()))));
    }
    if (role == roles.end()) return NotUsual("an unknown speaker");
    add("role", Value::String(role->second));
    ARROW_ASSIGN_OR_RAISE(const Value content, ReadContent(*value, arena));
    add("content", content);
  } else if (!has_role) {
    return NotUsual("a message without a role");
  }
  if (thought != nullptr) add("reasoning_content", *thought);
  return Value::Dict(entries, count);
}

}  // namespace

Result<Value> ReadConversation(const Value& value, const RoleMapping& roles, ValueReader* reader,
                               Arena* arena) {
  ARROW_ASSIGN_OR_RAISE(const Value decoded, reader->Decoded(value, arena));
  if (!decoded.Is(ValueKind::kList)) return NotUsual("a conversation that is no list");
  if (decoded.size == 0) return NotUsual("an empty conversation");
  Value* messages = arena->Array<Value>(decoded.size);
  for (uint32_t i = 0; i < decoded.size; ++i) {
    ARROW_ASSIGN_OR_RAISE(messages[i], ReadMessage(decoded.as.items[i], roles, reader, arena));
  }
  return Value::List(messages, decoded.size);
}

bool ShowsWhatWasSaid(const Value& messages, const std::vector<jinja::Mark>& marks,
                      const RoleMapping& roles) {
  std::vector<uint8_t> said(messages.size, 0);  // 1: says something, 2: and is the assistant's
  uint8_t most = 0;
  for (uint32_t i = 0; i < messages.size; ++i) {
    const Value& message = messages.as.items[i];
    if (!SaysSomething(message)) continue;
    const Value* role = FindKey(message, "role");
    const auto mapped =
        role != nullptr && role->IsString() ? roles.find(Lowered(role->Text())) : roles.end();
    said[i] = mapped != roles.end() && mapped->second == "assistant" ? 2 : 1;
    most = std::max(most, said[i]);
  }
  if (most == 0) return true;
  for (const jinja::Mark& mark : marks) {
    if (mark.kind != jinja::Mark::Kind::kText) continue;
    // A text of several messages may be anybody's.
    if (mark.message == jinja::Mark::kUnknown || said[mark.message] == most) return true;
  }
  return false;
}

}  // namespace easydata::chat
