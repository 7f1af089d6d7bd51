#include "easydata/trainer/turn_openings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "easydata/jinja/python_text.h"
#include "easydata/jinja/unicode.h"
#include "easydata/trainer/answers.h"

namespace easydata::trainer {
namespace {

using jinja::FindKey;
using jinja::Mark;
using jinja::StripEnd;
using jinja::StripStart;
using jinja::Value;

// So many turns have their prompts rendered, whatever stands before them.
constexpr size_t kFreeRenderings = 16;
// What is rendered of a conversation in all: so many times its text, and this.
constexpr size_t kMostTimes = 64;
constexpr size_t kMostMore = size_t{1} << 20;
constexpr size_t kShownBytes = 60;

bool IsEmptyText(std::string_view text) { return StripStart(text).empty(); }

std::string_view StripBoth(std::string_view text) { return StripEnd(StripStart(text)); }

std::string MessageName(uint32_t message) { return "messages[" + std::to_string(message) + "]"; }

/// The beginning of a text, for errors.
std::string ShownStart(std::string_view text) {
  size_t size = std::min(text.size(), kShownBytes);
  while (size < text.size() && size > 0 && (text[size] & 0xC0) == 0x80) --size;
  std::string shown;
  jinja::AppendJson(Value::String(text.substr(0, size)), {}, &shown);
  return size < text.size() ? shown + "..." : shown;
}

/// The first byte of the word or tag that goes on at `at`; `at`, where one begins there.
size_t StartOfWord(std::string_view text, size_t at) {
  constexpr std::string_view kSpaces = " \t\r\n";
  constexpr std::string_view kTags = "<[";
  const auto is_one_of = [&](size_t i, std::string_view all) {
    return all.find(text[i]) != std::string_view::npos;
  };
  if (at >= text.size() || is_one_of(at, kSpaces) || is_one_of(at, kTags)) return at;
  size_t start = at;
  while (start > 0 && !is_one_of(start - 1, kSpaces)) {
    --start;
    if (is_one_of(start, kTags)) break;
    // Behind a tag, another one begins.
    if (text[start] == '>' || text[start] == ']') return start + 1;
  }
  return start;
}

/// Whether a word of `of` stands somewhere in `text`.
bool HasWordOf(std::string_view text, std::string_view of) {
  while (!(of = StripStart(of)).empty()) {
    const size_t size = std::min(of.find_first_of(" \t\r\n"), of.size());
    if (size > 1 && text.find(of.substr(0, size)) != std::string_view::npos) return true;
    of.remove_prefix(size);
  }
  return false;
}

bool EndsFirst(const Mark& a, const Mark& b) { return a.end < b.end; }

/// The last text of a message that ends by `end`, or null; of marks in the order of their ends.
const Mark* LastText(std::span<const Mark> marks, size_t end) {
  auto mark = std::upper_bound(marks.begin(), marks.end(), end,
                               [](size_t at, const Mark& each) { return at < each.end; });
  while (mark != marks.begin()) {
    --mark;
    if (mark->kind == Mark::Kind::kText && mark->end > mark->begin) return &*mark;
  }
  return nullptr;
}

bool IsOf(const Mark& mark, uint32_t message) {
  return mark.message == message || mark.message == Mark::kUnknown;
}

/// The texts of a message that a template may print first, without white space around them.
void TakeSaid(const Value& message, std::vector<std::string_view>* said) {
  constexpr std::string_view kEnd = "</think>";
  said->clear();
  const auto add = [&](std::string_view text) {
    if (!(text = StripBoth(text)).empty()) said->push_back(text);
  };
  for (const jinja::SourceField& field : chat::kSaidFields) {
    const Value* value = FindKey(message, field.name);
    if (value == nullptr || !value->IsString()) continue;
    const std::string_view text = value->Text();
    add(text);
    // Looking for the first one is faster, and mostly there is none.
    if (text.find(kEnd) == std::string_view::npos) continue;
    const size_t end = text.rfind(kEnd);
    add(text.substr(end + kEnd.size()));
    const std::string_view thought = text.substr(0, end);
    const size_t begin = thought.find('>');
    if (begin != std::string_view::npos) add(thought.substr(begin + 1));
  }
}

}  // namespace

OpeningFinder::OpeningFinder(const Value& messages, const chat::RenderedChat& rendered,
                             const RowChats& chats, const ExampleContext& context,
                             GenerationPrompts* prompts)
    : messages_(messages),
      rendered_(rendered),
      text_(rendered.text),
      chats_(chats),
      context_(context),
      prompts_(prompts),
      is_plain_(context.renderer->has_plain_prompt(!chats.tools().Is(jinja::ValueKind::kNone))) {
  if (!rendered.has_text_marks) return;
  marks_ = rendered.marks;
  if (std::is_sorted(marks_.begin(), marks_.end(), EndsFirst)) return;
  sorted_ = rendered.marks;
  std::stable_sort(sorted_.begin(), sorted_.end(), EndsFirst);
  marks_ = sorted_;
}

/// Whether a text of the turn's message stands at `from`, but for white space.
bool OpeningFinder::Follows(const chat::AssistantTurn& turn, size_t from) const {
  if (from >= turn.end) return false;
  const std::string_view rest = StripStart(text_.substr(from, turn.end - from));
  return std::any_of(texts_.begin(), texts_.end(),
                     [&](std::string_view each) { return rest.starts_with(each); });
}

/// Where what a turn's message says begins, as far as its texts tell; else where the turn ends.
size_t OpeningFinder::FirstSaid(const chat::AssistantTurn& turn, size_t from) const {
  if (from >= turn.end) return from;
  const std::string_view rest = text_.substr(from, turn.end - from);
  size_t first = rest.size();
  for (const std::string_view each : texts_) first = std::min(first, rest.rfind(each));
  return from + first;
}

/// The role of the last message before `message` that a model answers; empty where there is none.
std::string_view OpeningFinder::RoleBefore(uint32_t message, uint32_t* asked) const {
  while (message > 0) {
    const Value* role = FindKey(messages_.as.items[--message], "role");
    if (role == nullptr || !role->IsString()) continue;
    if (role->Text() != "user" && role->Text() != "tool") continue;
    *asked = message;
    return role->Text();
  }
  return {};
}

/// The prompt of a short conversation behind a message of that role.
Result<const GenerationPrompt*> OpeningFinder::PromptBehind(std::string_view role) {
  Behind& behind = role == "tool" ? behind_tool_ : behind_user_;
  if (!behind.is_known) {
    ARROW_ASSIGN_OR_RAISE(behind.prompt,
                          prompts_->Find(context_, chats_.tools(), chats_.options(), role));
    behind.is_known = true;
  }
  return behind.prompt.get();
}

Result<size_t> OpeningFinder::Find(const chat::AssistantTurn& turn) {
  uint32_t asked = turn.message;
  const std::string_view role = RoleBefore(turn.message, &asked);
  ARROW_ASSIGN_OR_RAISE(const GenerationPrompt* usual, PromptBehind(role));
  const Mark* before = LastText(marks_, turn.begin);
  if (before != nullptr && asked + 1 == turn.message && IsOf(*before, asked) && usual != nullptr &&
      usual->has_tail && text_.substr(before->end).starts_with(usual->tail)) {
    const size_t given = before->end + usual->tail.size();
    if (is_plain_) return given;
    TakeSaid(messages_.as.items[turn.message], &texts_);
    if (Follows(turn, std::max(given, turn.begin))) return given;
  }
  TakeSaid(messages_.as.items[turn.message], &texts_);
  const size_t from = before == nullptr ? 0 : before->end;
  const size_t first = FirstSaid(turn, std::max(from, turn.begin));
  const std::string_view between = text_.substr(from, first - from);
  if (renderings_ >= kFreeRenderings) {
    for (const Known& known : known_) {
      if (known.between != between) continue;
      return from + known.given;
    }
  }
  if (rendered_bytes_ > kMostTimes * text_.size() + kMostMore) {
    return Status::Invalid("the chat template opens the turns of this conversation (",
                           messages_.size,
                           " messages) in too many ways to tell what of each the model is given: "
                           "use a template with {% generation %} around what it writes, or split "
                           "the conversation");
  }
  chat::RenderedChat prompt;
  const Status status = chats_.RenderPrompt(RowChats::Slice(messages_, 0, turn.message), &prompt);
  if (status.IsCancelled() || status.IsOutOfMemory()) return status;
  ++renderings_;
  rendered_bytes_ += prompt.text.size();
  if (!status.ok()) {
    // Some templates refuse a prompt without a question, of a chat that the assistant begins.
    if (usual != nullptr) return Compare(turn, turn.begin, usual->added);
    return Status::Invalid("what of the turn of ", MessageName(turn.message),
                           " the model is given cannot be determined: ", status.message());
  }
  auto found = FindBy(turn, prompt.text);
  if (found.ok()) {
    if (usual != nullptr) found = BehindAdded(turn, *found, usual->added);
    if (*found >= from) known_.push_back({between, *found - from});
    return found;
  }
  // What opens a turn may be known though what ends the message before is printed otherwise.
  const bool is_usual = usual != nullptr && !usual->added.empty() &&
                        (is_plain_ || turn.message == 0) && found.status().IsInvalid();
  if (!is_usual) return found;
  const auto other = Compare(turn, turn.begin, usual->added);
  return other.ok() ? other : found;
}

Result<size_t> OpeningFinder::FindBy(const chat::AssistantTurn& turn, std::string_view prompt) {
  if (text_.starts_with(prompt)) return prompt.size();
  TakeSaid(messages_.as.items[turn.message], &texts_);
  const Mark* here = LastText(marks_, turn.begin);
  if (here == nullptr) return Compare(turn, 0, prompt);
  chat::RenderedChat traced;
  ARROW_RETURN_NOT_OK(chats_.RenderPrompt(RowChats::Slice(messages_, 0, turn.message), &traced,
                                          /*trace=*/true));
  rendered_bytes_ += traced.text.size();
  std::stable_sort(traced.marks.begin(), traced.marks.end(), EndsFirst);
  const Mark* there = nullptr;
  if (traced.has_text_marks && traced.text == prompt) {
    there = LastText(traced.marks, prompt.size());
  }
  if (there == nullptr || !IsOf(*there, here->message)) return Compare(turn, 0, prompt);
  return Compare(turn, here->end, prompt.substr(there->end));
}

/// A template may print nothing for a model where the turn before is its own, or there is none, and
/// yet open the turn as others: what it opens them with is not trained then.
size_t OpeningFinder::BehindAdded(const chat::AssistantTurn& turn, size_t given,
                                  std::string_view added) const {
  const size_t begin = std::max(given, turn.begin);
  added = StripStart(added);
  if (added.empty() || begin >= turn.end || Follows(turn, begin)) return given;
  const std::string_view rest = StripStart(text_.substr(begin, turn.end - begin));
  if (!rest.starts_with(added)) return given;
  return static_cast<size_t>(rest.data() - text_.data()) + added.size();
}

/// Compares the text from byte `from` on with (the end of) a prompt.
Result<size_t> OpeningFinder::Compare(const chat::AssistantTurn& turn, size_t from,
                                      std::string_view prompt) const {
  const size_t shared = SharedPrefix(prompt, text_.substr(from)).size();
  const size_t given = from + shared;
  if (IsEmptyText(prompt.substr(shared))) return given;
  const size_t begin = std::max(given, turn.begin);
  const bool is_blank = begin >= turn.end || IsEmptyText(text_.substr(begin, turn.end - begin));
  if (is_blank || Follows(turn, begin)) return given;
  // What they share may end within a word or tag that goes on otherwise.
  const size_t word = StartOfWord(prompt, shared);
  const size_t last = from + word;
  const std::string_view missing = prompt.substr(word);
  const std::string_view core = StripBoth(missing);
  const size_t said = FirstSaid(turn, std::max(last, turn.begin));
  // The rest may stand further behind.
  const std::string_view within = text_.substr(0, turn.end);
  size_t end = 0;
  for (size_t at = last; (at = within.find(core, at)) != std::string_view::npos; ++at) {
    const size_t behind = at + core.size();
    if (behind > said || behind <= turn.begin) continue;
    end = behind;
    if (Follows(turn, behind)) break;
  }
  if (end > 0) {
    const std::string_view spaces = StripStart(missing).substr(core.size());
    return end + SharedPrefix(spaces, text_.substr(end)).size();
  }
  const bool is_begun =
      last > turn.begin && !IsEmptyText(text_.substr(turn.begin, last - turn.begin));
  const std::string_view own = text_.substr(last, std::max(said, last) - last);
  if (is_begun && !HasWordOf(own, missing)) return last;
  return Status::Invalid(
      "the chat template opens the turn of ", MessageName(turn.message), " with ",
      ShownStart(text_.substr(last)), ", but a model's turn (add_generation_prompt=True) with ",
      ShownStart(missing),
      ": what of it the model is given, and would be trained, cannot be determined; use a template "
      "with {% generation %} around what the model writes, or mask_prompt=False");
}

}  // namespace easydata::trainer
