#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/decode/decoder.h"
#include "tokenizers/model/model.h"

namespace easydata::tokenizers {

/// Decodes ids to text: looks up their tokens, added ones first, and runs the decoder. Immutable
/// and thread-safe.
class TextDecoder {
 public:
  /// `model` and `added` outlive it. Without a decoder tokens are joined by spaces.
  TextDecoder(const Model* model, const AddedTokens* added, std::unique_ptr<const Decoder> decoder);

  /// The text of `ids`. Ids that no token has are passed over, with `skip_special_tokens` those of
  /// special added tokens too. Invalid where the reference crashes.
  Result<std::string> Decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  /// Decodes every row of a list<int32> or large_list<int32> array, a null row to a null: string,
  /// or large_string when there are more than 2^31 - 1 bytes. Runs on `num_threads` threads; the
  /// result does not depend on their number. Messages of errors name the row.
  Result<std::shared_ptr<arrow::Array>> DecodeBatch(const arrow::Array& lists,
                                                    bool skip_special_tokens,
                                                    int num_threads) const;

  /// Whether an id adds a token to the decoded text.
  bool HasToken(int32_t id, bool skip_special_tokens) const {
    return Token(id, skip_special_tokens).has_value();
  }

 private:
  struct Entry {
    const char* data = nullptr;  // nullptr: no token has this id
    uint32_t size = 0;
    bool special = false;
  };

  /// The token of an id; nothing when there is none or it is skipped.
  std::optional<std::string_view> Token(int32_t id, bool skip_special_tokens) const;
  Entry LookUp(int32_t id) const;
  void FillTable() const;
  Status DecodeIds(std::span<const int32_t> ids, bool skip_special_tokens,
                   std::vector<std::string_view>* tokens, std::string* text) const;

  const Model* model_;
  const AddedTokens* added_;
  std::unique_ptr<const Decoder> decoder_;
  mutable std::once_flag table_once_;
  mutable std::vector<Entry> table_;  // by id; empty when ids are few and far between
};

}  // namespace easydata::tokenizers
