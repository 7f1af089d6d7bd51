#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/decode/text_decoder.h"

namespace easydata::tokenizers {

/// Decodes ids as they come: each step gives the text that its ids complete, so that the steps'
/// texts make the text of all ids. Behaves as the reference's DecodeStream. Holds the ids of the
/// last piece of text and those after it; serves one thread at a time.
class DecodeStream {
 public:
  /// `ids` are there already, a prompt perhaps: what comes next is decoded as their continuation.
  /// `decoder` is shared with its owner.
  DecodeStream(std::shared_ptr<const TextDecoder> decoder, bool skip_special_tokens,
               std::span<const int32_t> ids = {});

  /// The text that `ids` complete; nothing as long as there is none, since a character is not whole
  /// or the tokens stand for nothing. Invalid where the reference fails: these ids would change
  /// text that was handed out.
  Result<std::optional<std::string>> Step(std::span<const int32_t> ids);

  /// How many ids it holds.
  size_t num_held() const { return ids_.size(); }

 private:
  void Hold(std::span<const int32_t> ids);
  Result<std::string> Decode() const { return decoder_->Decode(ids_, skip_special_tokens_); }

  std::shared_ptr<const TextDecoder> decoder_;
  bool skip_special_tokens_;
  std::vector<int32_t> ids_;
  std::string prefix_;       // the text of the ids before prefix_end_, handed out already
  size_t prefix_end_ = 0;    // in ids_
  bool drops_empty_ = true;  // ids without a token change nothing and need not be held
};

}  // namespace easydata::tokenizers
