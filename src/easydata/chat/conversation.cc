#include "easydata/chat/conversation.h"

#include <algorithm>
#include <iterator>
#include <vector>

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

bool IsStandardRole(std::string_view role) {
  return role == "user" || role == "assistant" || role == "system" || role == "tool";
}

/// Where a message is, for errors.
struct MessagePath {
  std::string_view field;
  uint32_t message;

  std::string Text(std::string_view of = "") const {
    return std::string(field) + "[" + std::to_string(message) + "]" + std::string(of);
  }
};

/// The keys that an object has something under, for errors.
std::string KeysOf(const Value& object) {
  std::string has;
  for (uint32_t i = 0; i < object.size; ++i) {
    const auto& [key, item] = object.as.entries[i];
    if (item.Is(ValueKind::kNone)) continue;
    has.append(has.empty() ? "" : ", ");
    has += key.IsString() ? "'" + std::string(key.Text()) + "'" : TypeOf(key);
  }
  return has.empty() ? "nothing" : has;
}

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
    const Value* value = FindKey(part, "value");
    const bool is_text = type == nullptr || type->Is(ValueKind::kNone) ||
                         (type->IsString() && type->Text() == "text");
    if (!is_text) {
      return Status::Invalid(where(), " is a part of type '",
                             type->IsString() ? type->Text() : std::string_view("?"),
                             "'; only text can be rendered: remove the others");
    }
    const bool has_text = text != nullptr && text->IsString();
    const bool has_value = value != nullptr && value->IsString();
    if (!has_text && !has_value) {
      return Status::Invalid(
          where(), " is a part without text: it has ", KeysOf(part),
          "; expected text under 'text', or 'value'. Only text can be rendered: ",
          "remove other parts");
    }
    if (has_text && has_value && text->Text() != value->Text()) {
      return Status::Invalid(where(),
                             " has one text under 'text' and another under 'value': leave ",
                             "one of them out");
    }
    joined += has_text ? text->Text() : value->Text();
  }
  return Value::String(arena->Copy(joined));
}

/// The role of a speaker of from/value messages.
Result<std::string_view> RoleOf(const Value& from, const MessagePath& path,
                                const RoleMapping& roles, ValueReader* reader,
                                std::string_view* name) {
  if (from.IsString()) {
    auto role = roles.find(from.Text());
    if (role == roles.end()) {
      ARROW_ASSIGN_OR_RAISE(const std::string lower,
                            reader->Lowercased(jinja::StripStart(jinja::StripEnd(from.Text()))));
      role = roles.find(lower);
    }
    if (role != roles.end()) {
      *name = role->first;
      return std::string_view(role->second);
    }
  }
  std::string known;
  for (const auto& [each, role] : roles) known += (known.empty() ? "" : ", ") + each;
  return Status::Invalid(path.Text(), " is from ",
                         from.IsString() ? "'" + std::string(from.Text()) + "'" : TypeOf(from),
                         ", which is no known role; known are ", known,
                         "; name others by role_mapping=, in a DatasetConfig by "
                         "format_callback=ConvertToChatML(role_mapping=)");
}

/// Calls, or what a call says of its function, whose arguments are JSON text.
bool HasTextArguments(const Value& value) {
  if (value.Is(ValueKind::kList)) {
    return std::any_of(value.as.items, value.as.items + value.size, HasTextArguments);
  }
  if (!value.Is(ValueKind::kDict)) return false;
  const Value* arguments = FindKey(value, "arguments");
  if (arguments != nullptr) return arguments->IsString();
  const Value* function = FindKey(value, "function");
  return function != nullptr && function->Is(ValueKind::kDict) && HasTextArguments(*function);
}

/// A tool call whose arguments are no longer JSON text.
Value WithParsedArguments(const Value& call, ValueReader* reader, Arena* arena, int depth = 0) {
  if (!call.Is(ValueKind::kDict)) return call;
  auto* entries = arena->Array<DictEntry>(call.size);
  for (uint32_t i = 0; i < call.size; ++i) {
    entries[i] = call.as.entries[i];
    const std::string_view name = entries[i].key.IsString() ? entries[i].key.Text() : "";
    if (name == "arguments" && entries[i].value.IsString()) {
      if (const auto parsed = reader->Decoded(entries[i].value, arena); parsed.ok()) {
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
  if (!calls.Is(ValueKind::kList) || !HasTextArguments(calls)) return calls;
  bool is_parsed = options.parse_arguments.value_or(false);
  if (!options.parse_arguments.has_value() && options.habits != nullptr) {
    ARROW_ASSIGN_OR_RAISE(is_parsed, options.habits->Has(Habit::kWantsParsedArguments));
  }
  if (!is_parsed) return calls;
  Value* items = arena->Array<Value>(calls.size);
  for (uint32_t i = 0; i < calls.size; ++i) {
    items[i] = WithParsedArguments(calls.as.items[i], reader, arena);
  }
  return Value::List(items, calls.size);
}

Value Pairs(std::initializer_list<DictEntry> entries, Arena* arena) {
  auto* made = arena->Array<DictEntry>(entries.size());
  std::copy(entries.begin(), entries.end(), made);
  return Value::Dict(made, entries.size());
}

/// A tool call as templates know it, of {name, arguments}; nothing where that is something else.
std::optional<Value> AsToolCall(const Value& value, Arena* arena) {
  if (!value.Is(ValueKind::kDict)) return std::nullopt;
  if (const Value* function = FindKey(value, "function")) {
    if (function->Is(ValueKind::kDict)) return value;
  }
  const Value* name = FindKey(value, "name");
  if (name == nullptr || !name->IsString()) return std::nullopt;
  const Value* arguments = FindKey(value, "arguments");
  if (arguments == nullptr) arguments = FindKey(value, "parameters");
  const Value function = Pairs(
      {{Value::String("name"), *name},
       {Value::String("arguments"), arguments == nullptr ? Value::Dict(nullptr, 0) : *arguments}},
      arena);
  return Pairs(
      {{Value::String("type"), Value::String("function")}, {Value::String("function"), function}},
      arena);
}

/// The calls that a message is, or that stand under its key function_call: one, a list of them, or
/// the JSON of that. Nothing where it is something else.
std::optional<Value> AsToolCalls(const Value& value, ValueReader* reader, Arena* arena) {
  const auto decoded = reader->Decoded(value, arena);
  if (!decoded.ok()) return std::nullopt;
  const bool is_list = decoded->Is(ValueKind::kList);
  const Value* given = is_list ? decoded->as.items : &*decoded;
  const uint32_t count = is_list ? decoded->size : 1;
  Value* calls = arena->Array<Value>(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto call = AsToolCall(given[i], arena);
    if (!call.has_value()) return std::nullopt;
    calls[i] = *call;
  }
  if (count == 0) return std::nullopt;
  return Value::List(calls, count);
}

/// The role that a message with a role has: a name of a speaker that is no role becomes one.
Result<std::string_view> RoleUnder(const Value& given, const ConversationOptions& options,
                                   ValueReader* reader, std::string_view* name) {
  const std::string_view role = given.Text();
  *name = role;
  if (options.roles == nullptr || IsStandardRole(role)) return role;
  const auto* own = options.own_roles;
  if (own != nullptr && std::binary_search(own->begin(), own->end(), role)) return role;
  auto mapped = options.roles->find(role);
  if (mapped == options.roles->end()) {
    const auto lower = reader->Lowercased(jinja::StripStart(jinja::StripEnd(role)));
    if (lower.ok()) mapped = options.roles->find(*lower);
  }
  if (mapped != options.roles->end()) {
    *name = mapped->first;
    return std::string_view(mapped->second);
  }
  if (role == "developer" && options.habits != nullptr) {
    ARROW_ASSIGN_OR_RAISE(const bool as_system,
                          options.habits->Has(Habit::kWantsDeveloperAsSystem));
    if (as_system) return "system";
  }
  return role;
}

/// What parts of a message's content say that are no text: LLaMA-Factory's (v1) have what a model
/// thought, and its calls.
struct OtherParts {
  std::string reasoning;
  std::vector<Value> calls;
};

/// Takes these parts of a content out of it.
Value TakeOtherParts(const Value& content, ValueReader* reader, Arena* arena, OtherParts* out) {
  Value* rest = arena->Array<Value>(content.size);
  uint32_t count = 0;
  for (uint32_t i = 0; i < content.size; ++i) {
    const Value& part = content.as.items[i];
    const Value* type = part.Is(ValueKind::kDict) ? FindKey(part, "type") : nullptr;
    const Value* value = part.Is(ValueKind::kDict) ? FindKey(part, "value") : nullptr;
    const bool is_said = type != nullptr && type->IsString() && value != nullptr;
    if (is_said && type->Text() == "reasoning" && value->IsString()) {
      out->reasoning += value->Text();
      continue;
    }
    if (is_said && type->Text() == "tool_call") {
      if (const auto calls = AsToolCalls(*value, reader, arena); calls.has_value()) {
        out->calls.insert(out->calls.end(), calls->as.items, calls->as.items + calls->size);
        continue;
      }
    }
    rest[count++] = part;
  }
  return Value::List(rest, count);
}

bool IsCallName(std::string_view name) { return name == "function_call" || name == "tool_call"; }

bool IsReasoning(std::string_view key) {
  return std::find(std::begin(kReasoningFields), std::end(kReasoningFields), key) !=
         std::end(kReasoningFields);
}

/// Whether what a model thought is under one name at most, or under several alike: Invalid where
/// two differ. `*blank` is whether names without text go for one that has it.
Status CheckReasoning(const Value& given, const MessagePath& path, bool* blank) {
  const Value* thought = nullptr;
  std::string_view known;
  int names = 0;
  for (const std::string_view name : kReasoningFields) {
    const Value* found = FindKey(given, name);
    if (found == nullptr || found->Is(ValueKind::kNone)) continue;
    ++names;
    if (!HasText(*found)) continue;
    if (thought == nullptr) {
      thought = found;
      known = name;
    } else if (!thought->IsString() || !found->IsString() || thought->Text() != found->Text()) {
      return Status::Invalid(path.Text(), " has two reasonings, one in '", known, "' and one in '",
                             name, "', and a template prints one: keep the one that is meant");
    }
  }
  *blank = thought != nullptr && names > 1;
  return Status::OK();
}

/// The keys beside a role under which others write what a message says.
constexpr std::string_view kForeignKeys[] = {"value", "text", "message"};

/// Invalid where a message says nothing under the keys that templates read, and has text under
/// another.
Status CheckKeys(const Value& message, const MessagePath& path) {
  std::string has;
  for (const std::string_view key : kForeignKeys) {
    const Value* found = FindKey(message, key);
    if (found == nullptr || !HasText(*found)) continue;
    has += (has.empty() ? "'" : ", '") + std::string(key) + "'";
  }
  if (has.empty() || SaidOf(message) != 0) return Status::OK();
  return Status::Invalid(path.Text(), " has its text under ", has,
                         ", where no chat template looks beside a role: name it 'content', or the "
                         "role 'from' and the text 'value'");
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

/// Whether a message is what most are: a text of a usual role, and nothing else.
bool IsPlainMessage(const Value& given) {
  if (given.size != 2) return false;
  const DictEntry *role = given.as.entries, *content = given.as.entries + 1;
  if (!role->key.IsString() || !content->key.IsString()) return false;
  if (role->key.Text() != "role") std::swap(role, content);
  return role->key.Text() == "role" && content->key.Text() == "content" && role->value.IsString() &&
         content->value.IsString() && IsStandardRole(role->value.Text());
}

/// `*is_call`: whether it was a call of functions that is a message of its own.
Result<Value> ReadMessage(const Value& given, const MessagePath& path,
                          const ConversationOptions& options, ValueReader* reader, Arena* arena,
                          bool* is_call) {
  *is_call = false;
  if (!given.Is(ValueKind::kDict)) {
    return Status::TypeError(path.Text(), " is ", TypeOf(given),
                             ", expected a message with role, content");
  }
  if (IsPlainMessage(given)) {
    // A new dict: its maker may know another object by the one that was given.
    auto* entries = arena->Array<DictEntry>(given.size);
    std::copy(given.as.entries, given.as.entries + given.size, entries);
    return Value::Dict(entries, given.size);
  }
  const Value* from = FindKey(given, "from");
  const Value* value = FindKey(given, "value");
  const bool is_from_value = options.roles != nullptr && from != nullptr && value != nullptr &&
                             !from->Is(ValueKind::kNone) && !value->Is(ValueKind::kNone);
  bool has_blank_reasoning = false;
  ARROW_RETURN_NOT_OK(CheckReasoning(given, path, &has_blank_reasoning));
  DictBuilder message(given.size + 4, arena);
  OtherParts others;
  bool has_role = false;
  std::string_view speaker;
  Value content = Value::None();
  std::optional<Value> legacy_calls;
  for (uint32_t i = 0; i < given.size; ++i) {
    const DictEntry& entry = given.as.entries[i];
    if (entry.value.Is(ValueKind::kNone)) continue;
    const std::string_view name = entry.key.IsString() ? entry.key.Text() : "";
    if (is_from_value && (name == "from" || name == "value")) continue;
    Value item = entry.value;
    if (name == "role" && !is_from_value) {
      if (!item.IsString()) {
        return Status::TypeError(path.Text(".role"), " is ", TypeOf(item), ", expected text");
      }
      has_role = true;
      ARROW_ASSIGN_OR_RAISE(const auto role, RoleUnder(item, options, reader, &speaker));
      if (role != item.Text()) item = Value::String(role);
    } else if (name == "content" && !is_from_value) {
      if (item.Is(ValueKind::kList) && options.roles != nullptr) {
        item = TakeOtherParts(item, reader, arena, &others);
      }
      if (!item.IsString()) {
        ARROW_ASSIGN_OR_RAISE(item, ReadContent(item, path, ".content", arena));
      }
      content = item;
    } else if (name == "tool_calls") {
      ARROW_ASSIGN_OR_RAISE(item, ReadToolCalls(item, options, reader, arena));
    } else if (name == "function_call" && options.roles != nullptr &&
               FindKey(given, "tool_calls") == nullptr) {
      legacy_calls = AsToolCalls(item, reader, arena);
      if (legacy_calls.has_value()) continue;
    } else if (has_blank_reasoning && IsReasoning(name) && !HasText(item)) {
      continue;
    }
    message.Set(entry.key, item);
  }
  std::string_view role;
  if (is_from_value) {
    ARROW_ASSIGN_OR_RAISE(role, RoleOf(*from, path, *options.roles, reader, &speaker));
    message.Set(Value::String("role"), Value::String(role));
    ARROW_ASSIGN_OR_RAISE(content, ReadContent(*value, path, ".value", arena));
    message.Set(Value::String("content"), content);
  } else if (!has_role) {
    return Status::Invalid(path.Text(),
                           " names no role; expected role and content, or from and value; it has ",
                           KeysOf(given));
  }
  if (IsCallName(speaker) && content.IsString() && FindKey(given, "tool_calls") == nullptr) {
    // Of a role that the template itself has, the text stays.
    const Value* now = FindKey(message.Finish(), "role");
    if (now->Text() == "assistant") {
      legacy_calls = AsToolCalls(content, reader, arena);
      *is_call = legacy_calls.has_value();
      if (*is_call) message.Set(Value::String("content"), Value::String(""));
    }
  }
  if (!others.calls.empty() && FindKey(given, "tool_calls") == nullptr) {
    Value* calls = arena->Array<Value>(others.calls.size());
    std::copy(others.calls.begin(), others.calls.end(), calls);
    legacy_calls = Value::List(calls, others.calls.size());
  }
  if (!others.reasoning.empty()) {
    const Value thought = Value::String(arena->Copy(others.reasoning));
    const Value* own = FindKey(message.Finish(), kReasoningFields[0]);
    if (own != nullptr && (!own->IsString() || own->Text() != thought.Text())) {
      return Status::Invalid(path.Text(), " has two reasonings, one in '", kReasoningFields[0],
                             "' and one in a part of its content: keep the one that is meant");
    }
    message.Set(Value::String(kReasoningFields[0]), thought);
  }
  if (legacy_calls.has_value()) {
    ARROW_ASSIGN_OR_RAISE(const Value calls, ReadToolCalls(*legacy_calls, options, reader, arena));
    message.Set(Value::String("tool_calls"), calls);
  }
  const Value made = message.Finish();
  ARROW_RETURN_NOT_OK(CheckKeys(made, path));
  return options.name_thoughts ? TemplateMessage(made, arena) : made;
}

/// A message with the calls of two.
Value WithCallsOf(const Value& first, const Value& second, Arena* arena) {
  const Value& a = *FindKey(first, "tool_calls");
  const Value& b = *FindKey(second, "tool_calls");
  Value* calls = arena->Array<Value>(a.size + b.size);
  std::copy(a.as.items, a.as.items + a.size, calls);
  std::copy(b.as.items, b.as.items + b.size, calls + a.size);
  DictBuilder message(first.size, arena);
  for (uint32_t i = 0; i < first.size; ++i) {
    message.Set(first.as.entries[i].key, first.as.entries[i].value);
  }
  message.Set(Value::String("tool_calls"), Value::List(calls, a.size + b.size));
  return message.Finish();
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
  uint32_t count = 0;
  bool follows_call = false;
  for (uint32_t i = 0; i < decoded.size; ++i) {
    bool is_call = false;
    ARROW_ASSIGN_OR_RAISE(const Value message, ReadMessage(decoded.as.items[i], {options.field, i},
                                                           options, reader, arena, &is_call));
    if (is_call && follows_call) {
      messages[count - 1] = WithCallsOf(messages[count - 1], message, arena);
    } else {
      messages[count++] = message;
    }
    follows_call = is_call;
  }
  return Value::List(messages, count);
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

bool IsKnownRole(std::string_view role, const RoleMapping& roles) {
  if (IsStandardRole(role) || role == "developer" || roles.contains(role)) return true;
  return std::any_of(roles.begin(), roles.end(),
                     [&](const auto& named) { return named.second == role; });
}

bool HasText(const Value& value) {
  switch (value.kind) {
    case ValueKind::kString:
      return !jinja::StripStart(value.Text()).empty();
    case ValueKind::kList:
    case ValueKind::kTuple:
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

uint8_t SaidOf(const Value& message) {
  uint8_t said = 0;
  for (uint32_t i = 0; i < message.size; ++i) {
    const DictEntry& entry = message.as.entries[i];
    if (!entry.key.IsString() || entry.key.Text() == "role") continue;
    for (const jinja::SourceField& field : kSaidFields) {
      if (!jinja::IsSameName(field.name, entry.key.Text())) continue;
      if (HasText(entry.value)) said |= field.source;
      break;
    }
  }
  return said;
}

}  // namespace easydata::chat
