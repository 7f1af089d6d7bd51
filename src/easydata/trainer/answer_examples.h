#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "easydata/trainer/answers.h"
#include "easydata/trainer/example_maker.h"

namespace easydata::trainer {

/// The pieces of a prompt and of answers to it, as a layout encodes them.
struct AnswerPieces {
  bool is_chat = false;
  /// What all of them begin with; -1: nothing that is encoded by itself.
  int begin = -1;
  int prompt = -1;
  /// Layout easydel: the answers by themselves. Layout trl: each with the prompt before it.
  std::vector<int> answers = {};
};

/// Adds the texts of a row, answers without the EOS that texts spell at their ends. In layout trl
/// all texts get the special tokens of a text; chats have their own.
AnswerPieces AddPieces(const ExampleDrafts::Row& row, const AnswerTexts& texts,
                       const ExampleOptions& options, const ExampleContext& context);

/// The ids of a prompt and of answers to it.
struct AnswerIds {
  std::vector<int32_t> prompt;
  std::vector<std::vector<int32_t>> answers;
  int64_t cut = 0;  // tokens that max lengths cut
};

/// Layout easydel: the prompt keeps its last tokens, an answer its first; an answer that is text
/// ends in EOS, unless it is cut.
AnswerIds EasydelIds(const AnswerPieces& pieces, const TextPieces& texts,
                     const AnswerOptions& options, const TokenRoles& tokens);

/// Layout trl: answers begin where ids of the prompt and of the whole part; those that are text end
/// in EOS. `after` is what the encoder puts behind a text.
AnswerIds TrlIds(const AnswerPieces& pieces, const TextPieces& texts, const TokenRoles& tokens,
                 std::span<const int32_t> after);

}  // namespace easydata::trainer
