#include "easydata/trainer/answer_examples.h"

#include <algorithm>
#include <string>

#include "easydata/trainer/text_end.h"

namespace easydata::trainer {
namespace {

std::vector<int32_t> CopyOf(std::span<const int32_t> ids) { return {ids.begin(), ids.end()}; }

/// Adds the texts of a chat, what they begin with once.
AnswerPieces AddChats(const ExampleDrafts::Row& row, const AnswerTexts& texts,
                      std::span<const std::string> cuts) {
  AnswerPieces pieces = {.is_chat = true};
  std::string_view shared = texts.prompt;
  for (const std::string& whole : texts.whole) shared = SharedPrefix(shared, whole);
  const size_t cut = LastCut(shared, shared.size(), cuts);
  const auto add = [&](std::string_view text) {
    return row.pieces.Add(text, /*add_special_tokens=*/false, row.number);
  };
  if (cut > 0) pieces.begin = add(shared.substr(0, cut));
  pieces.prompt = add(std::string_view(texts.prompt).substr(cut));
  for (const std::string& whole : texts.whole) {
    pieces.answers.push_back(add(std::string_view(whole).substr(cut)));
  }
  return pieces;
}

}  // namespace

AnswerPieces AddPieces(const ExampleDrafts::Row& row, const AnswerTexts& texts,
                       const ExampleOptions& options, const ExampleContext& context) {
  if (options.is_trl() && texts.is_chat) return AddChats(row, texts, context.cuts);
  const TokenRoles& tokens = context.tokens;
  AnswerPieces pieces = {.is_chat = texts.is_chat};
  if (options.is_trl()) {
    const bool is_framed = true;
    pieces.prompt = row.pieces.Add(texts.prompt, is_framed, row.number);
    for (const std::string& whole : texts.whole) {
      const std::string_view text = WithoutEos(whole, tokens, texts.prompt.size());
      pieces.answers.push_back(row.pieces.Add(text, is_framed, row.number));
    }
    return pieces;
  }
  // A template may print a prompt otherwise where an answer follows: then it is what they share.
  std::string_view prompt = texts.prompt;
  for (const std::string& whole : texts.whole) prompt = SharedPrefix(prompt, whole);
  pieces.prompt = row.pieces.Add(prompt, /*add_special_tokens=*/false, row.number);
  for (const std::string& whole : texts.whole) {
    std::string_view answer = std::string_view(whole).substr(prompt.size());
    if (!texts.is_chat) answer = WithoutEos(answer, tokens);
    pieces.answers.push_back(row.pieces.Add(answer, /*add_special_tokens=*/false, row.number));
  }
  return pieces;
}

AnswerIds EasydelIds(const AnswerPieces& pieces, const TextPieces& texts,
                     const AnswerOptions& options, const TokenRoles& tokens) {
  AnswerIds made;
  made.prompt = CopyOf(texts.ids(pieces.prompt));
  if (options.add_special_tokens && tokens.bos_id.has_value() &&
      (made.prompt.empty() || made.prompt[0] != *tokens.bos_id)) {
    made.prompt.insert(made.prompt.begin(), *tokens.bos_id);
  }
  const auto excess = [](const std::vector<int32_t>& ids, std::optional<int64_t> most) {
    return most.has_value() ? std::max<int64_t>(0, static_cast<int64_t>(ids.size()) - *most) : 0;
  };
  const int64_t of_prompt = excess(made.prompt, options.max_prompt_length);
  made.prompt.erase(made.prompt.begin(), made.prompt.begin() + of_prompt);
  made.cut += of_prompt;
  for (const int piece : pieces.answers) {
    std::vector<int32_t> ids = CopyOf(texts.ids(piece));
    if (!pieces.is_chat) EndInEos(tokens, {}, &ids);
    const int64_t of_answer = excess(ids, options.max_completion_length);
    ids.erase(ids.end() - of_answer, ids.end());
    made.cut += of_answer;
    made.answers.push_back(std::move(ids));
  }
  return made;
}

AnswerIds TrlIds(const AnswerPieces& pieces, const TextPieces& texts, const TokenRoles& tokens,
                 std::span<const int32_t> after) {
  AnswerIds made;
  const auto prompt = texts.ids(pieces.prompt);
  size_t shared = prompt.size();
  for (const int piece : pieces.answers) {
    shared = std::min(shared, CommonPrefix(prompt, texts.ids(piece)));
  }
  if (pieces.begin >= 0) made.prompt = CopyOf(texts.ids(pieces.begin));
  made.prompt.insert(made.prompt.end(), prompt.begin(),
                     prompt.begin() + static_cast<std::ptrdiff_t>(shared));
  for (const int piece : pieces.answers) {
    made.answers.push_back(CopyOf(texts.ids(piece).subspan(shared)));
    if (!pieces.is_chat) EndInEos(tokens, after, &made.answers.back());
  }
  return made;
}

}  // namespace easydata::trainer
