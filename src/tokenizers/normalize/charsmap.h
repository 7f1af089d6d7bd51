#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::tokenizers {

/// SentencePiece's precompiled character map: a double-array trie over UTF-8 (darts-clone's layout:
/// 32-bit units) whose values are offsets of zero-terminated texts.
class Charsmap {
 public:
  /// What the map gives for a text: nothing, a replacement, or the reference crashes.
  struct Lookup {
    enum { kNone, kFound, kCrash } result;
    std::string_view replacement;
  };

  /// From the decoded bytes: the size of the trie in bytes (32 bits, little-endian), the trie, the
  /// texts. NotImplemented when the reference would refuse them.
  static Result<Charsmap> Parse(std::string_view bytes);

  /// What stands for `text`: the replacement of its shortest prefix that the map has, which the
  /// reference takes for the whole.
  Lookup Find(std::string_view text) const;

 private:
  std::vector<uint32_t> units_;
  std::string texts_;
};

/// Decodes standard base64 with its padding; nothing when it is not exactly that.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace easydata::tokenizers
