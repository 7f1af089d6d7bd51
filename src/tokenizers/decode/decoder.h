#pragma once

#include <simdjson.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::tokenizers {

/// Turns tokens, as the vocabulary spells them, into text. Immutable and thread-safe; takes time in
/// proportion to the tokens' bytes.
class Decoder {
 public:
  virtual ~Decoder() = default;

  /// Replaces the tokens by the output of the reference's decode_chain: parts of the text, to be
  /// joined. Invalid where the reference crashes.
  virtual Status DecodeChain(std::vector<std::string>* tokens) const = 0;

  /// Replaces *text by the text of `tokens`: DecodeChain and joining. Decoders that can do it
  /// without a copy of each token override it.
  virtual Status Decode(const std::vector<std::string_view>& tokens, std::string* text) const;
};

/// Makes the decoder of a tokenizer.json; null gives nullptr (tokens are joined by spaces).
///
/// A `type` that is missing or unknown is guessed from the fields, as the reference does.
/// NotImplemented for what the reference would not load.
Result<std::unique_ptr<const Decoder>> MakeDecoder(simdjson::dom::element component);

}  // namespace easydata::tokenizers
