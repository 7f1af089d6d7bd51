#include "easydata/trainer/answers.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "easydata/chat/claimed_messages.h"
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

Status ReadTexts(const Value& prompt, const std::vector<Value>& answers,
                 std::span<const std::string_view> fields, AnswerTexts* out) {
  std::vector<std::string_view> texts;
  for (size_t i = 0; i < answers.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(answers[i], fields[i]));
    texts.push_back(text);
  }
  if (!prompt.Is(ValueKind::kNone)) {
    ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(prompt, "prompt"));
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

}  // namespace

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

Status ReadAnswers(const ExampleDrafts::Row& row, std::span<const std::string_view> fields,
                   AnswerTexts* out) {
  *out = AnswerTexts();
  ARROW_ASSIGN_OR_RAISE(const Value given, row.fields.Get("prompt"));
  std::vector<Value> answers;
  bool is_chat = false;
  for (const std::string_view field : fields) {
    ARROW_ASSIGN_OR_RAISE(const Value value, row.fields.Get(field));
    if (value.Is(ValueKind::kNone)) {
      const std::string expected = "'" + std::string(field) + "'";
      return NothingToRead(row.fields, expected.c_str());
    }
    const Value messages = row.chats.AsMessages(value);
    is_chat = is_chat || !messages.Is(ValueKind::kNone);
    answers.push_back(messages.Is(ValueKind::kNone) ? value : messages);
  }
  if (answers.size() == 2) {
    ARROW_RETURN_NOT_OK(CheckPair(answers[0], answers[1]));
  } else {
    ARROW_RETURN_NOT_OK(CheckAnswer(answers[0], fields[0]));
  }
  Value prompt = row.chats.AsMessages(given);
  is_chat = is_chat || !prompt.Is(ValueKind::kNone);
  if (!is_chat) return ReadTexts(given, answers, fields, out);

  out->is_chat = true;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].IsString()) answers[i] = row.chats.Single("assistant", answers[i].Text());
    ARROW_ASSIGN_OR_RAISE(answers[i], row.chats.ReadAnswered(answers[i], fields[i]));
  }
  const bool begin_themselves = std::none_of(answers.begin(), answers.end(), [](const Value& each) {
    return IsFromAssistant(each.as.items[0]);
  });
  if (!prompt.Is(ValueKind::kNone)) {
    ARROW_ASSIGN_OR_RAISE(prompt, row.chats.Read(prompt, "prompt"));
  } else if (given.Is(ValueKind::kNone) || (begin_themselves && answers.size() == 2)) {
    ARROW_RETURN_NOT_OK(SplitChats(&answers, &prompt));
  } else {
    ARROW_ASSIGN_OR_RAISE(const auto text, TextOf(given, "prompt"));
    prompt = row.chats.Single("user", text);
  }
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
