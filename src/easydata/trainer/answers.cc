#include "easydata/trainer/answers.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "easydata/chat/claimed_messages.h"
#include "easydata/chat/row_conversation.h"
#include "easydata/jinja/operators.h"
#include "easydata/jinja/render_error.h"
#include "easydata/jinja/unicode.h"

namespace easydata::trainer {
namespace {

using jinja::Value;
using jinja::ValueKind;

bool IsContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

/// How many messages two conversations begin with alike.
Result<uint32_t> SharedMessages(const Value& a, const Value& b) {
  try {
    uint32_t shared = 0;
    while (shared < std::min(a.size, b.size) &&
           jinja::AreEqual(a.as.items[shared], b.as.items[shared])) {
      ++shared;
    }
    return shared;
  } catch (const jinja::RenderError& error) {
    return Status::Invalid("'chosen' and 'rejected' cannot be compared: ", error.message);
  }
}

bool IsFromAssistant(const Value& message) {
  const Value* role = jinja::FindKey(message, "role");
  return role != nullptr && role->IsString() && role->Text() == "assistant";
}

/// Splits two conversations at what they have in common: at least the last message is an answer.
Status SplitChats(std::vector<Value>* answers, Value* prompt) {
  if (answers->size() != 2) {
    return Status::KeyError("the row has no 'prompt', which an answer alone does not tell");
  }
  Value& chosen = (*answers)[0];
  Value& rejected = (*answers)[1];
  ARROW_ASSIGN_OR_RAISE(uint32_t shared, SharedMessages(chosen, rejected));
  shared = std::min({shared, chosen.size - 1, rejected.size - 1});
  if (shared == 0) {
    return Status::Invalid(
        "the row has no 'prompt', and 'chosen' and 'rejected' have no message in common at their "
        "beginnings that could be it");
  }
  *prompt = RowChats::Slice(chosen, 0, shared);
  chosen = RowChats::Slice(chosen, shared, chosen.size);
  rejected = RowChats::Slice(rejected, shared, rejected.size);
  return Status::OK();
}

/// How many bytes of two texts are their prompt, as TRL finds it: up to the first character that
/// differs, or the last of the shorter one; a space before it is the answers'.
size_t PromptBytes(std::string_view a, std::string_view b) {
  size_t at = SharedPrefix(a, b).size();
  const size_t shorter = std::min(a.size(), b.size());
  if (at == shorter) {
    if (at == 0) return 0;
    do {
      --at;
    } while (at > 0 && IsContinuation(a[at]));
    return at;
  }
  return at > 0 && a[at - 1] == ' ' ? at - 1 : at;
}

/// Takes the last message of a conversation, which is the assistant's, for an answer to the others.
Status SplitLast(const ExampleDrafts::Row& row, const Value& messages, std::string_view field,
                 GivenAnswers* given) {
  const uint32_t last = messages.size - 1;
  if (last == 0 || !IsFromAssistant(messages.as.items[last])) {
    return Status::Invalid("field '", field,
                           "' must end with the assistant's message, which is the answer to those "
                           "before it");
  }
  given->prompt = RowChats::Slice(messages, 0, last);
  given->prompt_field = field;
  given->answers.insert(given->answers.begin(), RowChats::Slice(messages, last, last + 1));
  given->fields.insert(given->fields.begin(), field);
  return Status::OK();
}

/// Finds what answers that stand by themselves answer.
Status FindPrompt(const ExampleDrafts::Row& row, GivenAnswers* given) {
  ARROW_RETURN_NOT_OK(FindTextPrompt(row, &given->prompt, &given->prompt_field));
  if (!given->prompt.Is(ValueKind::kNone)) return Status::OK();
  const bool begin_themselves = std::none_of(
      given->answers.begin(), given->answers.end(),
      [&](const Value& answer) { return !IsChat(answer) || IsFromAssistant(answer.as.items[0]); });
  if (begin_themselves) return Status::OK();
  std::string_view field;
  ARROW_ASSIGN_OR_RAISE(const Value messages, row.chats.FindMessages(chat::kMessageFields, &field));
  if (messages.Is(ValueKind::kNone)) return Status::OK();
  if (IsFromAssistant(messages.as.items[messages.size - 1])) {
    return Status::Invalid("field '", field, "' ends with the assistant's message, and '",
                           given->fields[0],
                           "' would follow it: leave out the one that is not meant");
  }
  given->prompt = messages;
  given->prompt_field = field;
  return Status::OK();
}

/// Finds `completion`, or the answer to an instruction, or that with which a conversation ends.
Status FindCompletion(const ExampleDrafts::Row& row, GivenAnswers* given) {
  ARROW_ASSIGN_OR_RAISE(Value completion, row.chats.MessagesIn(kCompletionField));
  std::string_view field = kCompletionField;
  if (completion.Is(ValueKind::kNone)) {
    ARROW_ASSIGN_OR_RAISE(const auto instruction, row.chats.Instruction(&field));
    if (instruction.has_value()) {
      ARROW_ASSIGN_OR_RAISE(completion, row.chats.MessagesIn(field));
    }
  }
  if (completion.Is(ValueKind::kNone)) {
    ARROW_ASSIGN_OR_RAISE(const Value messages,
                          row.chats.FindMessages(chat::kMessageFields, &field));
    if (messages.Is(ValueKind::kNone)) return NothingToRead(row.fields, "'completion'");
    return SplitLast(row, messages, field, given);
  }
  given->answers = {completion};
  given->fields = {field};
  return FindPrompt(row, given);
}

Status ReadTexts(const GivenAnswers& given, AnswerTexts* out) {
  std::vector<std::string_view> texts;
  for (size_t i = 0; i < given.answers.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(given.answers[i], given.fields[i]));
    texts.push_back(text);
  }
  if (!given.prompt.Is(ValueKind::kNone)) {
    ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(given.prompt, given.prompt_field));
    out->prompt = text;
    for (const std::string_view answer : texts) {
      out->whole.push_back(out->prompt + std::string(answer));
    }
    return Status::OK();
  }
  if (texts.size() != 2) {
    return Status::KeyError("the row has no 'prompt', which an answer alone does not tell");
  }
  out->prompt = texts[0].substr(0, PromptBytes(texts[0], texts[1]));
  out->whole.assign(texts.begin(), texts.end());
  return Status::OK();
}

constexpr char kPairWithoutPromptType[] = "easydata::trainer::PairWithoutPrompt";

class PairWithoutPromptDetail : public arrow::StatusDetail {
 public:
  const char* type_id() const override { return kPairWithoutPromptType; }
  std::string ToString() const override { return "a pair without a prompt"; }
};

}  // namespace

bool IsPairWithoutPrompt(const Status& status) {
  return status.detail() != nullptr && status.detail()->type_id() == kPairWithoutPromptType;
}

Status CheckPrompt(const ExampleDrafts::Row& row, const GivenAnswers& given) {
  if (!given.prompt.Is(ValueKind::kNone)) return Status::OK();
  for (const Value& answer : given.answers) {
    if (!answer.IsString()) return Status::OK();
  }
  if (PromptBytes(given.answers[0].Text(), given.answers[1].Text()) > 0) return Status::OK();
  std::string names;
  for (const std::string& name : row.fields.Names()) {
    if (std::find(given.fields.begin(), given.fields.end(), name) != given.fields.end()) continue;
    ARROW_ASSIGN_OR_RAISE(const Value value, row.fields.LookAt(name));
    if (!value.IsString() || !chat::HasText(value)) continue;
    names += (names.empty() ? "'" : ", '") + name + "'";
  }
  if (names.empty()) return Status::OK();
  return Status::Invalid(
             "the pair has no 'prompt', its answers begin with nothing in common, and nobody reads "
             "the text in ",
             names,
             ": call the one that is the prompt 'prompt' (format_fields={...: \"prompt\"}), or "
             "drop those that are not meant (drop_fields())")
      .WithDetail(std::make_shared<PairWithoutPromptDetail>());
}

Status FindPair(const ExampleDrafts::Row& row, GivenAnswers* given) {
  Value chosen = Value::None();
  std::string_view chosen_field;
  for (const std::string_view name : kChosenFields) {
    ARROW_ASSIGN_OR_RAISE(chosen, row.chats.MessagesIn(name));
    chosen_field = name;
    if (!chosen.Is(ValueKind::kNone)) break;
  }
  Value rejected = Value::None();
  std::string_view field;
  for (const std::string_view name : kRejectedFields) {
    ARROW_ASSIGN_OR_RAISE(rejected, row.chats.MessagesIn(name));
    field = name;
    if (!rejected.Is(ValueKind::kNone)) break;
  }
  const bool lacks_chosen = chosen.Is(ValueKind::kNone);
  std::string_view messages_field;
  Value messages = Value::None();
  if (lacks_chosen && !rejected.Is(ValueKind::kNone)) {
    ARROW_ASSIGN_OR_RAISE(messages, row.chats.FindMessages(chat::kMessageFields, &messages_field));
  }
  const bool lacks_both = lacks_chosen && messages.Is(ValueKind::kNone);
  if (lacks_both || rejected.Is(ValueKind::kNone)) {
    return NothingToRead(row.fields, lacks_both ? "'chosen'" : "'rejected'");
  }
  given->answers = {rejected};
  given->fields = {field};
  if (lacks_chosen && field == kRejectedMessages) {
    given->answers.insert(given->answers.begin(), messages);
    given->fields.insert(given->fields.begin(), messages_field);
    return Status::OK();
  }
  if (lacks_chosen) return SplitLast(row, messages, messages_field, given);
  given->answers.insert(given->answers.begin(), chosen);
  given->fields.insert(given->fields.begin(), chosen_field);
  return FindPrompt(row, given);
}

Status FindTextPrompt(const ExampleDrafts::Row& row, Value* prompt, std::string_view* field) {
  for (const std::string_view name : kPromptFields) {
    ARROW_ASSIGN_OR_RAISE(*prompt, row.fields.Get(name));
    *field = name;
    if (!prompt->Is(ValueKind::kNone)) return Status::OK();
  }
  std::string_view answer;
  ARROW_ASSIGN_OR_RAISE(const auto instruction, row.chats.Instruction(&answer));
  if (instruction.has_value()) *prompt = *instruction;
  return Status::OK();
}

std::vector<std::string> OtherAnswerFields() {
  std::vector<std::string> names = {std::string(kPromptFields[1]), std::string(kChosenFields[1])};
  for (const std::string_view field : std::span(kRejectedFields).subspan(1)) {
    names.emplace_back(field);
  }
  for (const std::string_view field : chat::kMessageFields) names.emplace_back(field);
  for (const std::string& field : chat::FieldsBeside(/*instructions=*/true)) names.push_back(field);
  return names;
}

std::string_view SharedPrefix(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t shared = 0;
  while (shared + 8 <= most) {
    uint64_t x, y;
    std::memcpy(&x, a.data() + shared, 8);
    std::memcpy(&y, b.data() + shared, 8);
    if (x != y) break;
    shared += 8;
  }
  while (shared < most && a[shared] == b[shared]) ++shared;
  const auto is_cut = [&](std::string_view text) {
    return shared < text.size() && IsContinuation(text[shared]);
  };
  while (shared > 0 && (is_cut(a) || is_cut(b))) --shared;
  return a.substr(0, shared);
}

Status CheckAnswer(const Value& answer, std::string_view field) {
  if (!answer.IsString() || chat::HasText(answer)) return Status::OK();
  return chat::EmptyAnswer("field '" + std::string(field) + "' holds an answer that");
}

Status CheckPair(const Value& chosen, const Value& rejected) {
  ARROW_RETURN_NOT_OK(CheckAnswer(chosen, kPreferenceFields[0]));
  ARROW_RETURN_NOT_OK(CheckAnswer(rejected, kPreferenceFields[1]));
  bool same = false;
  try {
    same = chosen.kind == rejected.kind && jinja::AreEqual(chosen, rejected);
  } catch (const jinja::RenderError& error) {
    return Status::Invalid("'chosen' and 'rejected' cannot be compared: ", error.message);
  }
  if (!same) return Status::OK();
  return Status::Invalid(
      "'chosen' and 'rejected' are the same, of which nothing can be learned: leave such rows out");
}

Status ReadAnswers(const ExampleDrafts::Row& row, AnswerKind kind, AnswerTexts* out) {
  *out = AnswerTexts();
  GivenAnswers given;
  ARROW_RETURN_NOT_OK(kind == AnswerKind::kPair ? FindPair(row, &given)
                                                : FindCompletion(row, &given));
  std::vector<Value>& answers = given.answers;
  if (answers.size() == 2) {
    ARROW_RETURN_NOT_OK(CheckPair(answers[0], answers[1]));
  } else {
    ARROW_RETURN_NOT_OK(CheckAnswer(answers[0], given.fields[0]));
  }
  Value prompt = row.chats.AsMessages(given.prompt);
  bool is_chat =
      !prompt.Is(ValueKind::kNone) || std::any_of(answers.begin(), answers.end(), IsChat);
  if (!is_chat) {
    ARROW_ASSIGN_OR_RAISE(is_chat, row.chats.HasSystem());
    if (!is_chat && kind == AnswerKind::kPair) ARROW_RETURN_NOT_OK(CheckPrompt(row, given));
    if (!is_chat) return ReadTexts(given, out);
  }

  out->is_chat = true;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (IsChat(answers[i])) continue;
    ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(answers[i], given.fields[i]));
    answers[i] = row.chats.Single("assistant", text);
  }
  const bool begin_themselves = std::none_of(answers.begin(), answers.end(), [](const Value& each) {
    return IsFromAssistant(each.as.items[0]);
  });
  if (!prompt.Is(ValueKind::kNone)) {
    ARROW_ASSIGN_OR_RAISE(prompt, row.chats.Read(prompt, given.prompt_field));
    // Answers that are whole conversations have the prompt, too.
    for (Value& answer : answers) {
      if (answer.size <= prompt.size) continue;
      ARROW_ASSIGN_OR_RAISE(const uint32_t shared, SharedMessages(prompt, answer));
      if (shared == prompt.size) {
        answer = RowChats::Slice(answer, shared, answer.size);
      }
    }
  } else if (given.prompt.Is(ValueKind::kNone) || (begin_themselves && answers.size() == 2)) {
    ARROW_RETURN_NOT_OK(SplitChats(&answers, &prompt));
  } else {
    ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(given.prompt, given.prompt_field));
    prompt = row.chats.Single("user", text);
  }
  ARROW_ASSIGN_OR_RAISE(prompt, row.chats.WithSystem(prompt));
  chat::RenderedChat rendered;
  ARROW_RETURN_NOT_OK(row.chats.RenderPrompt(prompt, &rendered));
  out->prompt = std::move(rendered.text);
  for (const Value& answer : answers) {
    ARROW_RETURN_NOT_OK(row.chats.RenderWhole(row.chats.Join(prompt, answer), &rendered));
    out->whole.push_back(std::move(rendered.text));
  }
  return Status::OK();
}

}  // namespace easydata::trainer
