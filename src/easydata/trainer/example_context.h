#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/chat/chat_renderer.h"
#include "easydata/chat/conversation.h"
#include "easydata/chat/template_habits.h"
#include "easydata/stream/vocabulary.h"
#include "tokenizers/token_spans.h"
#include "tokenizers/tokenizer.h"

namespace easydata::trainer {

/// The tokens that examples are completed with.
struct TokenRoles {
  std::optional<int32_t> eos_id;
  std::string eos_text;
  std::optional<int32_t> bos_id;
  std::string bos_text;
  int32_t pad_id = 0;
  /// Whether rows are filled up at their left.
  bool pad_left = false;
  /// What stands for an empty prompt.
  std::optional<int32_t> empty_id;
  /// Whether text that spells one of them is it.
  bool are_spelled = true;
};

/// Tells which bytes of a text its ids cover, and which ids are special.
struct SpanFinder {
  /// Null for tokenizers whose vocabulary is not at hand.
  std::shared_ptr<const tokenizers::TokenSpans> spans;
  /// What tells where spelling does not: replaces *ends by the byte after each of the ids of a
  /// text.
  std::function<Status(std::string_view text, std::span<const int32_t> ids,
                       std::vector<size_t>* ends)>
      ask;
  /// Special tokens, sorted; where `spans` is null.
  std::vector<int32_t> special = {};

  Status Find(std::string_view text, std::span<const int32_t> ids, std::vector<size_t>* ends) const;
  bool IsSpecial(int32_t id) const;
};

/// What the examples of a transform are made with. Immutable.
struct ExampleContext {
  std::shared_ptr<const tokenizers::TextEncoder> encoder;
  /// Of the encoder; null: nobody has to know it.
  VocabularyPtr vocabulary = {};
  TokenRoles tokens;
  SpanFinder span_finder;
  /// Null where the tokenizer has no chat template; `why_no_template` then says so.
  std::shared_ptr<const chat::ChatRenderer> renderer;
  chat::RoleMapping roles = {};
  /// Names of roles that the template itself has, sorted.
  std::vector<std::string> own_roles = {};
  /// What the template is known for; null where there is none.
  std::shared_ptr<const chat::TemplateHabits> habits = {};
  /// Whether a role that nobody has told us of was told of.
  mutable std::atomic<bool> told_of_role = false;
  /// Whether the end of chats was looked at.
  mutable std::atomic<bool> looked_at_end = false;
  /// Special tokens at whose ends a text may be cut, and its parts be encoded by themselves: the
  /// ids are those of the whole. Of chats that begin alike, the beginning is encoded once.
  std::vector<std::string> cuts = {};
  /// What `tools` says for rows that have none of their own, and options of the template, as JSON
  /// lists and objects; null: none.
  std::shared_ptr<const chat::ChatVariables> given = {};
};

/// The special tokens in `frame`, what a template prints of itself, that texts may be cut behind:
/// those that stand alone wherever they are written, behind which text is encoded as at a
/// beginning.
Result<std::vector<std::string>> FindCuts(const tokenizers::Tokenizer& tokenizer,
                                          std::string_view frame);

/// Where the last cut in the first `limit` bytes of a text is; 0: there is none.
size_t LastCut(std::string_view text, size_t limit, std::span<const std::string> cuts);

/// A text that tells the tokens that an encoder puts around one.
struct SpecialFrame {
  std::vector<int32_t> before;
  std::vector<int32_t> after;
};
Result<SpecialFrame> FindSpecialFrame(const tokenizers::TextEncoder& encoder);

/// The ids of one text.
Result<std::vector<int32_t>> EncodeText(const tokenizers::TextEncoder& encoder,
                                        std::string_view text, bool add_special_tokens);

/// How many ids two lists have in common at their beginnings.
size_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b);

}  // namespace easydata::trainer
