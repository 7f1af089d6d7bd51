#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/tokenizer.h"

namespace easydata::trainer {

/// Texts of many rows that are encoded together.
class TextPieces {
 public:
  /// Adds a text, which is copied, of row `row`; returns its number.
  int Add(std::string_view text, bool add_special_tokens, int64_t row);

  /// Encodes all texts. Where the encoder refuses some, `*bad_row` is the first row that has one,
  /// and the error what is wrong with it; Leave() that row and go on.
  Status Encode(const tokenizers::TextEncoder& encoder, int64_t* bad_row);

  /// Makes the texts of a row empty.
  void Leave(int64_t row);

  std::string_view text(int piece) const;
  std::span<const int32_t> ids(int piece) const;

 private:
  /// Those that get special tokens, and those that do not.
  struct Group {
    std::string texts;
    std::vector<int64_t> starts = {0};
    std::vector<int64_t> rows;
    std::shared_ptr<arrow::Array> lists;
  };
  struct Piece {
    int group;
    int64_t index;
  };

  Status EncodeGroup(const tokenizers::TextEncoder& encoder, bool add_special_tokens, Group* group,
                     int64_t* bad_row);

  Group groups_[2];
  std::vector<Piece> pieces_;
};

}  // namespace easydata::trainer
