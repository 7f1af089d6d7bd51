#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/model/string_table.h"

namespace easydata::tokenizers {

/// Tokens and their ids, both ways. Ids may have holes, and one id may have several tokens.
class Vocabulary {
 public:
  /// Reads {"token": id, ...}; of a token given twice the last id counts.
  static Result<Vocabulary> FromJson(simdjson::dom::object tokens);

  /// The number of tokens.
  int64_t size() const { return tokens_.size(); }

  /// Largest id plus one.
  int64_t id_limit() const { return static_cast<int64_t>(index_of_id_.size()); }

  /// Whether no id has two tokens.
  bool ids_are_unique() const { return ids_are_unique_; }

  /// The id of a token, or -1.
  int32_t Find(std::string_view token) const {
    const int32_t index = tokens_.Find(token);
    return index < 0 ? -1 : ids_[index];
  }

  bool HasId(int64_t id) const { return id >= 0 && id < id_limit() && index_of_id_[id] >= 0; }

  /// The token of an id that HasId; the last one of several.
  std::string_view TokenOf(int32_t id) const { return tokens_[index_of_id_[id]]; }
  std::optional<std::string_view> IdToToken(int32_t id) const {
    return HasId(id) ? std::optional(TokenOf(id)) : std::nullopt;
  }

  /// The number of characters of each id's token; 0 for a hole.
  std::vector<uint32_t> CountCharacters() const;

  /// Tokens by number, in the order of the file.
  const StringTable& tokens() const { return tokens_; }
  int32_t id_at(int64_t index) const { return ids_[index]; }

 private:
  void IndexIds();

  StringTable tokens_;
  std::vector<int32_t> ids_;          // by number in tokens_
  std::vector<int32_t> index_of_id_;  // -1: a hole
  bool ids_are_unique_ = true;
};

}  // namespace easydata::tokenizers
