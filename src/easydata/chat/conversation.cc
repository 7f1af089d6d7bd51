#include "easydata/chat/conversation.h"

#include <algorithm>
#include <set>

#include "easydata/base/lower_case.h"
#include "easydata/chat/key_index.h"
#include "easydata/jinja/unicode.h"

namespace easydata::chat {
namespace {

using jinja::Arena;
using jinja::DictEntry;
using jinja::FindKey;
using jinja::Value;
using jinja::ValueKind;

const char* TypeOf(const Value& value) {
  switch (value.kind) {
    case ValueKind::kNone:
      return "nothing";
    case ValueKind::kBoolean:
      return "a boolean";
    case ValueKind::kInteger:
    case ValueKind::kBigInteger:
    case ValueKind::kFloat:
      return "a number";
    case ValueKind::kString:
      return "text";
    case ValueKind::kDict:
      return "an object";
    case ValueKind::kList:
    case ValueKind::kTuple:
      return "a list";
    default:
      return "something else";
  }
}

/// The first characters of a text, for errors.
std::string_view StartOf(std::string_view text) {
  size_t end = 0;
  for (int i = 0; i < 60 && end < text.size(); ++i) {
    end += static_cast<size_t>(jinja::DecodeCharacter(text.data() + end).length);
  }
  return text.substr(0, end);
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

/// Where a message is, for errors.
struct MessagePath {
  std::string_view field;
  uint32_t message;

  std::string Text(std::string_view of = "") const {
    return std::string(field) + "[" + std::to_string(message) + "]" + std::string(of);
  }
};

/// The text of a message's content, the field `of` it: a string, or a list of strings and text
/// parts.
Result<Value> ReadContent(const Value& content, const MessagePath& path, std::string_view of,
                          Arena* arena) {
  if (content.IsString()) return content;
  if (!content.Is(ValueKind::kList)) {
    return Status::TypeError(path.Text(of), " holds ", TypeOf(content), ", expected text");
  }
  std::string joined;
  for (uint32_t i = 0; i < content.size; ++i) {
    const Value& part = content.as.items[i];
    if (part.IsString()) {
      joined += part.Text();
      continue;
    }
    const auto where = [&] { return path.Text(of) + "[" + std::to_string(i) + "]"; };
    if (!part.Is(ValueKind::kDict)) {
      return Status::TypeError(where(), " is ", TypeOf(part), ", expected a part with text");
    }
    const Value* type = FindKey(part, "type");
    const Value* text = FindKey(part, "text");
    const bool is_text = type == nullptr || type->Is(ValueKind::kNone) ||
                         (type->IsString() && type->Text() == "text");
    if (!is_text) {
      return Status::Invalid(where(), " is a part of type '",
                             type->IsString() ? type->Text() : std::string_view("?"),
                             "'; only text can be rendered: remove the others");
    }
    if (text == nullptr || !text->IsString()) {
      return Status::Invalid(where(), " is a part without text; only text can be rendered: remove ",
                             "the others");
    }
    joined += text->Text();
  }
  return Value::String(arena->Copy(joined));
}

/// The role of a speaker of from/value messages.
Result<std::string_view> RoleOf(const Value& from, const MessagePath& path,
                                const RoleMapping& roles, ValueReader* reader) {
  if (from.IsString()) {
    auto role = roles.find(from.Text());
    if (role == roles.end()) {
      ARROW_ASSIGN_OR_RAISE(const std::string name,
                            reader->Lowercased(jinja::StripStart(jinja::StripEnd(from.Text()))));
      role = roles.find(name);
    }
    if (role != roles.end()) return std::string_view(role->second);
  }
  std::string known;
  for (const auto& [name, role] : roles) known += (known.empty() ? "" : ", ") + name;
  return Status::Invalid(path.Text(), " is from ",
                         from.IsString() ? "'" + std::string(from.Text()) + "'" : TypeOf(from),
                         ", which is no known role; known are ", known,
                         "; name others by role_mapping=, in a DatasetConfig by "
                         "format_callback=ConvertToChatML(role_mapping=)");
}

/// A tool call whose arguments are no longer JSON text.
Value WithParsedArguments(const Value& call, ValueReader* reader, Arena* arena, int depth = 0) {
  if (!call.Is(ValueKind::kDict)) return call;
  auto* entries = arena->Array<DictEntry>(call.size);
  for (uint32_t i = 0; i < call.size; ++i) {
    entries[i] = call.as.entries[i];
    const std::string_view name = entries[i].key.Text();
    if (name == "arguments" && entries[i].value.IsString()) {
      if (const auto parsed = reader->ReadJson(entries[i].value.Text(), arena); parsed.ok()) {
        entries[i].value = *parsed;
      }
    } else if (name == "function" && depth == 0) {
      entries[i].value = WithParsedArguments(entries[i].value, reader, arena, 1);
    }
  }
  return Value::Dict(entries, call.size);
}

Result<Value> ReadToolCalls(const Value& value, const ConversationOptions& options,
                            ValueReader* reader, Arena* arena) {
  ARROW_ASSIGN_OR_RAISE(const Value calls, reader->Decoded(value, arena));
  if (!options.parse_arguments || !calls.Is(ValueKind::kList)) return calls;
  Value* items = arena->Array<Value>(calls.size);
  for (uint32_t i = 0; i < calls.size; ++i) {
    items[i] = WithParsedArguments(calls.as.items[i], reader, arena);
  }
  return Value::List(items, calls.size);
}

/// Makes a dict, of which a key that comes again keeps its position.
class DictBuilder {
 public:
  /// `most` keys at most.
  DictBuilder(size_t most, Arena* arena) : entries_(arena->Array<DictEntry>(most)), texts_(most) {}

  /// A key that is no text must be new.
  void Set(const Value& key, const Value& value) {
    const size_t at = key.IsString() ? texts_.Find(key.Text(), entries_, count_) : count_;
    if (at == count_) entries_[count_++].key = key;
    entries_[at].value = value;
  }

  Value Finish() const { return Value::Dict(entries_, count_); }

 private:
  DictEntry* const entries_;
  size_t count_ = 0;
  KeyIndex texts_;
};

/// A message as templates see it (TemplateMessages).
Value TemplateMessage(const Value& given, Arena* arena) {
  const Value* thought = nullptr;
  for (const std::string_view name : kReasoningFields) {
    const Value* found = FindKey(given, name);
    if (found == nullptr || found->Is(ValueKind::kNone)) continue;
    thought = found;
    break;
  }
  const auto is_none = [](const DictEntry& entry) { return entry.value.Is(ValueKind::kNone); };
  const DictEntry* const end = given.as.entries + given.size;
  if (thought == nullptr && std::none_of(given.as.entries, end, is_none)) return given;
  DictBuilder message(given.size + 2, arena);
  if (thought != nullptr) message.Set(Value::String("thinking"), *thought);
  for (const DictEntry* entry = given.as.entries; entry != end; ++entry) {
    if (!is_none(*entry)) message.Set(entry->key, entry->value);
  }
  if (thought != nullptr) message.Set(Value::String("reasoning_content"), *thought);
  return message.Finish();
}

Result<Value> ReadMessage(const Value& given, const MessagePath& path,
                          const ConversationOptions& options, ValueReader* reader, Arena* arena) {
  if (!given.Is(ValueKind::kDict)) {
    return Status::TypeError(path.Text(), " is ", TypeOf(given),
                             ", expected a message with role, content");
  }
  const Value* from = FindKey(given, "from");
  const Value* value = FindKey(given, "value");
  const bool is_from_value = options.roles != nullptr && from != nullptr && value != nullptr &&
                             !from->Is(ValueKind::kNone) && !value->Is(ValueKind::kNone);
  DictBuilder message(given.size + 2, arena);
  bool has_role = false;
  for (uint32_t i = 0; i < given.size; ++i) {
    const DictEntry& entry = given.as.entries[i];
    if (entry.value.Is(ValueKind::kNone)) continue;
    const std::string_view name = entry.key.IsString() ? entry.key.Text() : "";
    if (is_from_value && (name == "from" || name == "value")) continue;
    if (name == "role" && !is_from_value) {
      if (!entry.value.IsString()) {
        return Status::TypeError(path.Text(".role"), " is ", TypeOf(entry.value),
                                 ", expected text");
      }
      has_role = true;
    }
    Value item = entry.value;
    if (name == "content" && !is_from_value) {
      if (!item.IsString()) {
        ARROW_ASSIGN_OR_RAISE(item, ReadContent(item, path, ".content", arena));
      }
    } else if (name == "tool_calls") {
      ARROW_ASSIGN_OR_RAISE(item, ReadToolCalls(item, options, reader, arena));
    }
    message.Set(entry.key, item);
  }
  if (is_from_value) {
    ARROW_ASSIGN_OR_RAISE(const auto role, RoleOf(*from, path, *options.roles, reader));
    message.Set(Value::String("role"), Value::String(role));
    ARROW_ASSIGN_OR_RAISE(const Value content, ReadContent(*value, path, ".value", arena));
    message.Set(Value::String("content"), content);
  } else if (!has_role) {
    std::string has;
    for (uint32_t i = 0; i < given.size; ++i) {
      const auto& [key, item] = given.as.entries[i];
      if (item.Is(ValueKind::kNone)) continue;
      has.append(has.empty() ? "" : ", ");
      has += key.IsString() ? "'" + std::string(key.Text()) + "'" : TypeOf(key);
    }
    return Status::Invalid(path.Text(),
                           " names no role; expected role and content, or from and value; it has ",
                           has.empty() ? "nothing" : has);
  }
  return options.name_thoughts ? TemplateMessage(message.Finish(), arena) : message.Finish();
}

}  // namespace

Result<Value> ReadConversation(const Value& value, const ConversationOptions& options,
                               ValueReader* reader, Arena* arena) {
  ARROW_ASSIGN_OR_RAISE(const Value decoded, reader->Decoded(value, arena));
  const auto field = [&] { return "field '" + std::string(options.field) + "' holds "; };
  if (decoded.IsString()) {
    return Status::Invalid(field(),
                           "text that is no JSON list of messages; expected messages (dicts ",
                           "with role and content) or their JSON: '", StartOf(decoded.Text()), "'");
  }
  if (!decoded.Is(ValueKind::kList) && !decoded.Is(ValueKind::kTuple)) {
    return Status::TypeError(field(), TypeOf(decoded), ", expected a list of messages");
  }
  if (decoded.size == 0) return Status::Invalid(field(), "an empty conversation");
  Value* messages = arena->Array<Value>(decoded.size);
  for (uint32_t i = 0; i < decoded.size; ++i) {
    ARROW_ASSIGN_OR_RAISE(
        messages[i], ReadMessage(decoded.as.items[i], {options.field, i}, options, reader, arena));
  }
  return Value::List(messages, decoded.size);
}

Result<Value> TemplateMessages(const Value& messages, Arena* arena) {
  if (!messages.Is(ValueKind::kList)) {
    return Status::TypeError("messages are ", TypeOf(messages), ", expected a list of dicts");
  }
  Value* items = arena->Array<Value>(messages.size);
  for (uint32_t i = 0; i < messages.size; ++i) {
    const Value& message = messages.as.items[i];
    if (!message.Is(ValueKind::kDict)) {
      return Status::TypeError("a message is ", TypeOf(message), ", expected a dict with a role");
    }
    items[i] = TemplateMessage(message, arena);
  }
  return Value::List(items, messages.size);
}

Value AsMessages(const Value& value, ValueReader* reader, Arena* arena) {
  const auto decoded = reader->Decoded(value, arena);
  if (!decoded.ok() || !decoded->Is(ValueKind::kList) || decoded->size == 0) return Value::None();
  const Value& first = decoded->as.items[0];
  if (!first.Is(ValueKind::kDict)) return Value::None();
  const bool is_message = FindKey(first, "role") != nullptr || FindKey(first, "from") != nullptr;
  return is_message ? *decoded : Value::None();
}

Result<Value> ReadTools(const Value& value, ValueReader* reader, Arena* arena) {
  ARROW_ASSIGN_OR_RAISE(const Value tools, reader->Decoded(value, arena));
  if (tools.Is(ValueKind::kNone)) return tools;
  if (!tools.Is(ValueKind::kList)) {
    return Status::TypeError("field 'tools' holds ", TypeOf(tools),
                             ", expected a list of JSON schemas");
  }
  for (uint32_t i = 0; i < tools.size; ++i) {
    if (tools.as.items[i].Is(ValueKind::kDict)) continue;
    return Status::TypeError("tools[", i, "] is ", TypeOf(tools.as.items[i]),
                             ", expected a JSON schema");
  }
  return tools.size == 0 ? Value::None() : tools;
}

bool IsAssistant(const Value& message, const RoleMapping& roles) {
  const Value* role = FindKey(message, "role");
  if (role == nullptr || !role->IsString()) return false;
  if (role->Text() == "assistant") return true;
  const auto mapped = roles.find(LowerCase(role->Text()));
  return mapped != roles.end() && mapped->second == "assistant";
}

std::string RolesOf(const Value& messages) {
  std::set<std::string_view> roles;
  for (uint32_t i = 0; i < messages.size; ++i) {
    const Value* role = FindKey(messages.as.items[i], "role");
    if (role != nullptr && role->IsString()) roles.insert(role->Text());
  }
  std::string text;
  for (const std::string_view role : roles) text.append(text.empty() ? "" : ", ").append(role);
  return text;
}

bool ShowsWhatWasSaid(const Value& messages, const std::vector<jinja::Mark>& marks,
                      const RoleMapping& roles) {
  std::vector<uint8_t> said(messages.size, 0);  // 1: says something, 2: and is the assistant's
  uint8_t most = 0;
  for (uint32_t i = 0; i < messages.size; ++i) {
    const Value& message = messages.as.items[i];
    if (!SaysSomething(message)) continue;
    said[i] = IsAssistant(message, roles) ? 2 : 1;
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
