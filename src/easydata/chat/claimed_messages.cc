#include "easydata/chat/claimed_messages.h"

#include <algorithm>
#include <memory>
#include <span>

#include "easydata/chat/assistant_turns.h"
#include "easydata/jinja/python_text.h"
#include "easydata/jinja/unicode.h"

namespace easydata::chat {
namespace {

using jinja::FindKey;
using jinja::Mark;
using jinja::StripEnd;
using jinja::StripStart;
using jinja::Value;
using jinja::ValueKind;

constexpr std::string_view kThoughtBegin = "<think>";
constexpr std::string_view kThoughtEnd = "</think>";
/// Enough of a line to know it by.
constexpr size_t kKeyBytes = 200;
/// What is shown of a role in errors.
constexpr size_t kRoleBytes = 60;

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view StripBoth(std::string_view text) { return StripEnd(StripStart(text)); }

/// Whether a text is in another one, as far as a line of it tells: as it is, or as JSON has it.
bool IsIn(std::string_view text, std::string_view all) {
  text = StripBoth(text);
  if (text.empty()) return true;
  std::string_view first = text.substr(0, std::min(text.find('\n'), kKeyBytes));
  if (first.size() == kKeyBytes) {
    while (!first.empty() && (first.back() & 0xC0) == 0x80) first.remove_suffix(1);
    if (!first.empty() && (first.back() & 0x80) != 0) first.remove_suffix(1);
  }
  const size_t line = text.rfind('\n');
  std::string_view last = line == std::string_view::npos ? text : text.substr(line + 1);
  if (last.size() > kKeyBytes) last = {};
  for (const std::string_view each : {first, last}) {
    const std::string_view key = StripBoth(each);
    if (!key.empty() && Contains(all, key)) return true;
  }
  std::string json;
  jinja::AppendJson(Value::String(first), {}, &json);
  return Contains(all, std::string_view(json).substr(1, json.size() - 2));
}

/// Whether one of the texts in a value is in another text.
bool HasTextIn(const Value& value, std::string_view all) {
  switch (value.kind) {
    case ValueKind::kString:
      return HasText(value) && IsIn(value.Text(), all);
    case ValueKind::kList:
    case ValueKind::kTuple:
      return std::any_of(value.as.items, value.as.items + value.size,
                         [&](const Value& item) { return HasTextIn(item, all); });
    case ValueKind::kDict:
      for (uint32_t i = 0; i < value.size; ++i) {
        const jinja::DictEntry& entry = value.as.entries[i];
        // What templates have themselves.
        if (entry.key.IsString() && entry.key.Text() == "type") continue;
        if (HasTextIn(entry.value, all)) return true;
      }
      return false;
    default:
      return false;
  }
}

const Value* FunctionOf(const Value& call) {
  const Value* function = call.Is(ValueKind::kDict) ? FindKey(call, "function") : nullptr;
  return function != nullptr && function->Is(ValueKind::kDict) ? function : nullptr;
}

std::string_view FunctionName(const Value& call) {
  const Value* function = FunctionOf(call);
  const Value* name = function == nullptr ? nullptr : FindKey(*function, "name");
  return name != nullptr && name->IsString() ? name->Text() : std::string_view();
}

/// Whether a call is in a text as far as its words tell: its function's name, and what of its
/// arguments a template prints as it is.
bool IsCallIn(const Value& call, std::string_view all) {
  const std::string_view name = FunctionName(call);
  if (name.empty()) return HasTextIn(call, all);
  const Value* arguments = FindKey(*FunctionOf(call), "arguments");
  const bool has_words =
      arguments != nullptr && arguments->Is(ValueKind::kDict) && HasText(*arguments);
  return IsIn(name, all) && (!has_words || HasTextIn(*arguments, all));
}

/// The calls of a message, where there are several.
std::span<const Value> SeveralCalls(const Value& message) {
  const Value* calls = FindKey(message, "tool_calls");
  if (calls == nullptr || !jinja::IsSequenceOfItems(*calls) || calls->size < 2) return {};
  return {calls->as.items, calls->size};
}

/// What a model thought, where that stands in a content: the text in <think>...</think>.
std::string_view ThoughtIn(const Value& message) {
  const Value* content = FindKey(message, "content");
  if (content == nullptr || !content->IsString()) return {};
  const std::string_view text = content->Text();
  // Looking for the first one is faster, and mostly there is none.
  if (!Contains(text, kThoughtEnd)) return {};
  const size_t end = text.rfind(kThoughtEnd);
  const size_t begin = text.find(kThoughtBegin);
  const size_t from = begin < end ? begin + kThoughtBegin.size() : 0;
  return StripBoth(text.substr(from, end - from));
}

/// Whether a content is a thought, and nothing behind it.
bool IsOnlyThought(const Value& message) {
  const Value* content = FindKey(message, "content");
  const std::string_view text = content->Text();
  return StripStart(text.substr(text.rfind(kThoughtEnd) + kThoughtEnd.size())).empty();
}

/// What marks say of one message.
struct Printed {
  uint8_t sources = 0;
  uint32_t first = 0;  // of its marks of texts
  uint32_t end = 0;
};

/// Looks for what one conversation says in its text.
class Search {
 public:
  Search(const ChatRequest& request, const RenderedChat& rendered, const ClaimOptions& options)
      : messages_(request.messages), rendered_(rendered), options_(options) {}

  Status Find(const Value& tools, std::vector<LostText>* lost) {
    static thread_local std::vector<Printed> printed;  // by message
    printed.assign(messages_.size, Printed());
    printed_ = printed;
    has_unmarked_ = !rendered_.has_text_marks;
    if (rendered_.has_text_marks) {
      for (uint32_t i = 0; i < rendered_.marks.size(); ++i) {
        const Mark& mark = rendered_.marks[i];
        if (mark.kind != Mark::Kind::kText) continue;
        if (mark.message >= messages_.size) {
          has_unmarked_ = true;
          continue;
        }
        Printed& of = printed[mark.message];
        if (of.end == 0) of.first = i;
        of.end = i + 1;
        of.sources |= mark.sources == 0 ? Value::kSources : mark.sources;
      }
    }
    for (uint32_t i = 0; i < messages_.size; ++i) {
      const Value& message = messages_.as.items[i];
      const uint8_t said = SaidOf(message);
      const auto missing = static_cast<uint8_t>(said & ~printed[i].sources);
      // Mostly it says a text, which is there.
      if (said == Value::kContent && missing == 0 && !MayHaveThought(message)) continue;
      bool is_lost = false;
      if ((missing & Value::kContent) != 0 && !HasFieldIn(message, Value::kContent)) {
        ARROW_ASSIGN_OR_RAISE(is_lost, IsContentLost(i));
        if (is_lost) lost->push_back({i, Value::kContent});
      }
      if ((missing & Value::kReasoning) != 0 && !HasFieldIn(message, Value::kReasoning)) {
        ARROW_ASSIGN_OR_RAISE(is_lost, IsReasoningLost(i, Habit::kShowsReasoning));
        if (is_lost) lost->push_back({i, Value::kReasoning});
      } else {
        ARROW_ASSIGN_OR_RAISE(is_lost, IsThoughtLost(i, missing));
        if (is_lost) lost->push_back({i, Value::kReasoning});
      }
      if ((missing & Value::kCalls) != 0 && !HasFieldIn(message, Value::kCalls)) {
        lost->push_back({i, Value::kCalls});
        continue;
      }
      const std::span<const Value> calls = SeveralCalls(message);
      for (uint32_t k = 0; k < calls.size(); ++k) {
        if (IsCallLost(i, k, calls[k])) lost->push_back({i, Value::kCalls, k});
      }
    }
    if (tools.Is(ValueKind::kNone)) return Status::OK();
    bool shows_tools = rendered_.shows_tools;
    if (!rendered_.knows_tools && options_.habits != nullptr) {
      ARROW_ASSIGN_OR_RAISE(shows_tools, options_.habits->Has(Habit::kShowsTools));
    }
    if (!shows_tools) lost->push_back({LostText::kConversation, Value::kTools});
    return Status::OK();
  }

 private:
  /// Whether a message may have its thoughts in its content.
  bool MayHaveThought(const Value& message) const {
    return IsAssistant(message, *options_.roles) && !ThoughtIn(message).empty();
  }

  /// Whether one of a message's several calls is not in the text.
  bool IsCallLost(uint32_t message, uint32_t number, const Value& call) const {
    if (!HasText(call)) return false;
    const Printed& of = printed_[message];
    bool is_among_others = false;
    for (uint32_t i = of.first; i < of.end; ++i) {
      const Mark& mark = rendered_.marks[i];
      if (mark.kind != Mark::Kind::kText || mark.message != message) continue;
      if (mark.sources == 0) return false;
      if ((mark.sources & Value::kCalls) == 0) continue;
      if (mark.call == number) return false;
      is_among_others = is_among_others || mark.call == Value::kAnyCall;
    }
    // Of what is printed of several at once, and of calls that have no number, the words tell.
    if (is_among_others && HasTextIn(call, StretchOf(message))) return false;
    return !IsInUnmarked([&](std::string_view text) { return IsCallIn(call, text); });
  }

  /// Whether fields of a message are in the text where no mark says so: in stretches that are of
  /// several messages, or anywhere where there are no marks.
  bool HasFieldIn(const Value& message, uint8_t source) const {
    for (const jinja::SourceField& field : kSaidFields) {
      const Value* value = field.source == source ? FindKey(message, field.name) : nullptr;
      if (value == nullptr || !HasText(*value)) continue;
      if (IsInUnmarked([&](std::string_view text) { return HasTextIn(*value, text); })) return true;
    }
    return false;
  }

  template <typename Has>
  bool IsInUnmarked(const Has& has) const {
    if (!has_unmarked_) return false;
    if (!rendered_.has_text_marks) return has(rendered_.text);
    return std::any_of(rendered_.marks.begin(), rendered_.marks.end(), [&](const Mark& mark) {
      return mark.kind == Mark::Kind::kText && mark.message == Mark::kUnknown && has(TextAt(mark));
    });
  }

  /// The text from the first to the last that was printed of a message: a line of it may be in
  /// several marks.
  std::string_view StretchOf(uint32_t message) const {
    const Printed& of = printed_[message];
    size_t begin = rendered_.text.size(), end = 0;
    for (uint32_t i = of.first; i < of.end; ++i) {
      const Mark& mark = rendered_.marks[i];
      if (mark.kind != Mark::Kind::kText || mark.message != message) continue;
      begin = std::min<size_t>(begin, mark.begin);
      end = std::max<size_t>(end, mark.end);
    }
    return begin < end ? std::string_view(rendered_.text).substr(begin, end - begin) : "";
  }

  std::string_view TextAt(const Mark& mark) const {
    return std::string_view(rendered_.text).substr(mark.begin, mark.end - mark.begin);
  }

  Result<bool> IsContentLost(uint32_t message) const {
    const Value& of = messages_.as.items[message];
    if (!IsAssistant(of, *options_.roles) || ThoughtIn(of).empty() || !IsOnlyThought(of)) {
      return true;
    }
    ARROW_ASSIGN_OR_RAISE(const bool lost, IsReasoningLost(message, Habit::kShowsThoughts));
    return lost;
  }

  /// Whether it is a loss that reasoning is not in the text: not where a template prints it in the
  /// last turn alone.
  Result<bool> IsReasoningLost(uint32_t message, Habit habit) const {
    if (options_.drops_reasoning) return false;
    if (message + 1 >= messages_.size || options_.habits == nullptr) return true;
    const Value* calls = FindKey(messages_.as.items[message], "tool_calls");
    const bool has_calls = calls != nullptr && HasText(*calls);
    if (habit == Habit::kShowsReasoning && has_calls) habit = Habit::kShowsReasoningOfCalls;
    ARROW_ASSIGN_OR_RAISE(const bool shows, options_.habits->Has(habit));
    return !shows;
  }

  /// The same of a thought in a content of which the rest is there.
  Result<bool> IsThoughtLost(uint32_t message, uint8_t missing) const {
    if ((missing & Value::kContent) != 0 && rendered_.has_text_marks) return false;
    const std::string_view thought = ThoughtIn(messages_.as.items[message]);
    if (thought.empty() || !IsAssistant(messages_.as.items[message], *options_.roles)) {
      return false;
    }
    if (rendered_.has_text_marks && IsIn(thought, StretchOf(message))) return false;
    if (IsInUnmarked([&](std::string_view text) { return IsIn(thought, text); })) return false;
    return IsReasoningLost(message, Habit::kShowsThoughts);
  }

  const Value& messages_;
  const RenderedChat& rendered_;
  const ClaimOptions& options_;
  std::span<const Printed> printed_ = {};
  bool has_unmarked_ = false;
};

std::string Quoted(std::string_view role) {
  size_t size = std::min(role.size(), kRoleBytes);
  while (size < role.size() && size > 0 && (role[size] & 0xC0) == 0x80) --size;
  std::string shown = "'" + std::string(role.substr(0, size));
  return shown + (size < role.size() ? "...'" : "'");
}

std::string_view RoleNamed(const Value& message) {
  const Value* role = FindKey(message, "role");
  return role != nullptr && role->IsString() ? role->Text() : std::string_view();
}

constexpr char kEmptyAnswerType[] = "easydata::chat::EmptyAnswer";

class EmptyAnswerDetail : public arrow::StatusDetail {
 public:
  const char* type_id() const override { return kEmptyAnswerType; }
  std::string ToString() const override { return "an empty answer"; }
};

}  // namespace

Status FindLostTexts(const ChatRequest& request, const RenderedChat& rendered,
                     const ClaimOptions& options, std::vector<LostText>* lost) {
  lost->clear();
  return Search(request, rendered, options).Find(request.tools, lost);
}

Status CheckClaimed(const ChatRequest& request, const RenderedChat& rendered,
                    const ClaimOptions& options) {
  std::vector<LostText> lost;
  ARROW_RETURN_NOT_OK(FindLostTexts(request, rendered, options, &lost));
  if (lost.empty()) return Status::OK();
  return Status::Invalid(DescribeLost(lost[0], request.messages, *options.roles));
}

std::string_view NameOfSource(uint8_t source) {
  switch (source) {
    case Value::kContent:
      return "content";
    case Value::kReasoning:
      return "reasoning";
    case Value::kCalls:
      return "tool_calls";
    default:
      return "tools";
  }
}

std::string DescribeLost(const LostText& lost, const Value& messages, const RoleMapping& roles) {
  if (lost.source == Value::kTools) {
    return "the chat template leaves out the row's 'tools': it knows none; give the template of a "
           "model that does (chat_template=), or drop the field";
  }
  const std::string where = "messages[" + std::to_string(lost.message) + "]";
  const std::string_view role = RoleNamed(messages.as.items[lost.message]);
  const std::string leaves_out = "the chat template leaves out the ";
  const std::string of = " of " + where + " (role " + Quoted(role) + ")";
  switch (lost.source) {
    case Value::kReasoning:
      return leaves_out + "reasoning" + of +
             ": give a template that prints it (chat_template=), or take it out of the messages; "
             "reasoning=\"drop\" of a transform says that it is meant";
    case Value::kCalls:
      if (lost.call != Value::kAnyCall) {
        const std::string number = "'tool_calls[" + std::to_string(lost.call) + "]'";
        const Value& call = SeveralCalls(messages.as.items[lost.message])[lost.call];
        return leaves_out + number + of + ", a call of " + Quoted(FunctionName(call)) +
               ": it prints other calls of the message; give the template of a model that calls "
               "several tools at once (chat_template=), give each call a message of its own, or "
               "leave such rows out";
      }
      return leaves_out + "'tool_calls'" + of +
             ": it knows no calls of tools, or none beside a content; give the template of a model "
             "that does (chat_template=), make the content null, or leave such rows out";
    default:
      break;
  }
  if (!IsKnownRole(role, roles)) {
    return leaves_out + "'content'" + of +
           ": it knows no such role; correct it, or say which one it is by role_mapping=, in a "
           "DatasetConfig by format_callback=ConvertToChatML(role_mapping=)";
  }
  return leaves_out + "'content'" + of +
         ": give a template that prints it (chat_template=), or take it out of the messages";
}

Status CheckSaysSomething(const Value& messages, const RoleMapping& roles, std::string_view field) {
  for (uint32_t i = 0; i < messages.size; ++i) {
    const Value& message = messages.as.items[i];
    if (!IsAssistant(message, roles) || SaidOf(message) != 0) continue;
    // What a weight is wrong with is said by who reads it.
    const auto is_trained = IsTrained(message);
    if (is_trained.ok() && !*is_trained) continue;
    return EmptyAnswer(std::string(field) + "[" + std::to_string(i) + "] (role " +
                       Quoted(RoleNamed(message)) + ") is an answer that");
  }
  return Status::OK();
}

Status EmptyAnswer(std::string_view what) {
  return Status::Invalid(what,
                         " says nothing: a model would learn to end at once; take it out, or "
                         "leave such rows out: empty_answers=\"skip\" of a transform")
      .WithDetail(std::make_shared<EmptyAnswerDetail>());
}

bool IsEmptyAnswer(const Status& status) {
  return status.detail() != nullptr && status.detail()->type_id() == kEmptyAnswerType;
}

std::string_view StrangeRole(const Value& messages, const RoleMapping& roles,
                             const std::vector<std::string>* own_roles) {
  for (uint32_t i = 0; i < messages.size; ++i) {
    const std::string_view role = RoleNamed(messages.as.items[i]);
    if (role.empty() || IsKnownRole(role, roles)) continue;
    if (own_roles != nullptr && std::binary_search(own_roles->begin(), own_roles->end(), role)) {
      continue;
    }
    return role;
  }
  return {};
}

std::string StrangeRoleNotice(std::string_view role) {
  return "chats have messages of role " + Quoted(role) +
         ", which is no usual one and which the chat template does not name: it prints them with "
         "that role; is that meant? This is said once";
}

}  // namespace easydata::chat
