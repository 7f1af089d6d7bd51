#pragma once

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/model/model.h"
#include "tokenizers/normalize/normalizer.h"

namespace easydata::tokenizers {

/// One entry of `added_tokens`; the file's `id` is not kept, since the reference ignores it.
struct AddedTokenSpec {
  std::string content;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;
  bool special = false;
};

/// Reads the list `added_tokens` of a tokenizer.json.
Result<std::vector<AddedTokenSpec>> ParseAddedTokens(simdjson::dom::element list);

/// An added token with the id that the reference gives it.
struct AddedToken : AddedTokenSpec {
  int32_t id = -1;
  /// What is searched for, and what the id decodes to: the content, normalized if `normalized` is
  /// set.
  std::string pattern;
};

/// Part of a text: an added token, or (id -1) text between them. Parts may overlap where a token
/// strips spaces.
struct TextPart {
  int32_t id;
  size_t begin;
  size_t end;
};

/// Finds added tokens in text, leftmost first, the longest of those that start there, as the
/// reference does: a match that a flag rejects is passed over whole.
class AddedTokenMatcher {
 public:
  /// `tokens` outlive the matcher. `pass_over_special`: special tokens are found and passed over.
  AddedTokenMatcher(const std::vector<const AddedToken*>& tokens, bool pass_over_special);

  bool empty() const { return nodes_.size() == 1; }

  /// Whether `text` holds a token, flags apart.
  bool Occurs(std::string_view text) const;

  /// Appends the parts of the valid UTF-8 `text`. Returns false, and appends nothing, when there is
  /// no added token.
  bool Split(std::string_view text, std::vector<TextPart>* parts) const;

 private:
  struct Match {
    const AddedToken* token;
    size_t begin;
    size_t end;
  };
  struct Node {
    std::vector<std::pair<uint8_t, int32_t>> children;  // sorted by byte
    const AddedToken* token = nullptr;
  };

  bool Rejects(std::string_view text, const Match& match) const;
  bool FindNext(std::string_view text, size_t from, Match* match) const;
  const Node* Child(const Node& node, char byte) const;

  bool pass_over_special_;
  std::vector<Node> nodes_;
  std::array<bool, 256> is_first_{};
  int only_first_ = -1;              // the byte that all tokens start with, or -1
  std::vector<bool> is_first_pair_;  // by the first two bytes; empty when a token is one byte long
};

/// The added tokens of a file: their ids, and matchers for raw and for normalized text.
class AddedTokens {
 public:
  /// `normalizer` (nullptr: none) makes the patterns of normalized tokens. `split_special`: the
  /// reference's encode_special_tokens, text that spells special tokens is text like any other.
  static Result<AddedTokens> Make(const std::vector<AddedTokenSpec>& specs, const Model& model,
                                  const Normalizer* normalizer, bool split_special);

  const AddedTokenMatcher& raw() const { return matchers_[0]; }
  const AddedTokenMatcher& normalized() const { return matchers_[1]; }

  /// By id and by content; nullptr when there is none.
  const AddedToken* FindId(int32_t id) const;
  const AddedToken* FindContent(std::string_view content) const;

  /// Whether decoding leaves this token out when it is to skip special ones.
  bool IsSpecial(std::string_view token) const { return special_.contains(std::string(token)); }

  /// How many of them the model's vocabulary lacks.
  int64_t num_new() const { return num_new_; }

  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  std::vector<AddedToken> tokens_;  // never changed once the matchers point into it
  std::unordered_map<std::string, int64_t> by_content_;
  std::unordered_map<int32_t, const AddedToken*> by_id_;
  std::unordered_set<std::string> special_;
  std::vector<AddedTokenMatcher> matchers_;
  int64_t num_new_ = 0;
};

}  // namespace easydata::tokenizers
