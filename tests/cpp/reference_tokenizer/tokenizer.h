#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "reference_tokenizer/model.h"
#include "reference_tokenizer/normalizer.h"
#include "reference_tokenizer/post_processor.h"
#include "reference_tokenizer/pre_tokenizer.h"
#include "reference_tokenizer/text.h"

namespace easydata::tokenizers::reference {

/// A whole tokenizer.json, run step by step. Slow: time grows with the square of a word's length.
class Tokenizer {
 public:
  /// NotImplemented for a file that it does not take, Invalid for one that it knows the
  /// reference to refuse.
  static Result<std::shared_ptr<const Tokenizer>> FromJson(std::string_view json);

  /// Ids of a text, or of a pair. Invalid where the library raises or panics.
  Result<Encoding> Encode(const std::string& text, const std::optional<std::string>& pair,
                          bool add_special_tokens) const;

  /// Ids of a batch, padded to a common length if the file says so.
  Result<std::vector<Encoding>> EncodeBatch(
      const std::vector<std::pair<std::string, std::optional<std::string>>>& texts,
      bool add_special_tokens) const;

 private:
  struct AddedToken {
    Chars content;
    Chars normal;  // what is searched for
    bool single_word, lstrip, rstrip, normalized, special;
  };
  /// A piece of text, or an added token.
  struct Piece {
    Text text;
    std::optional<int32_t> id;
  };

  explicit Tokenizer(const nlohmann::json& file);

  void AddTokens(const nlohmann::json& tokens);
  std::vector<Piece> SplitAtAddedTokens(const Text& text, bool normalized) const;
  Ids EncodeText(const std::string& text) const;
  Encoding EncodeOne(const std::string& text, const std::optional<std::string>& pair,
                     bool add_special_tokens) const;

  Normalizer normalize_;
  std::vector<PreTokenizer> steps_;
  std::unique_ptr<const Model> model_;
  PostProcessor post_processor_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;
  std::map<std::string, int32_t> added_ids_;
  std::map<int32_t, AddedToken> added_;
};

}  // namespace easydata::tokenizers::reference
