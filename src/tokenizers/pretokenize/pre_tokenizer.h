#pragma once

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/pretokenize/split_scanner.h"

namespace easydata::tokenizers {

/// Invalid for a text that has become too large for offsets of 32 bits in `component`.
Status CheckGrownSize(size_t size, const char* component);

/// Bytes [begin, end) of a PieceText.
struct Word {
  uint32_t begin;
  uint32_t end;

  bool operator==(const Word&) const = default;
};

/// A piece of text on its way through a pre-tokenizer: the working memory of one thread, reused
/// from piece to piece.
struct PieceText {
  /// What the words point into: the caller's piece, or `buffer` once a step has rewritten it.
  std::string_view text;
  std::string buffer;
  /// In order, not empty, not overlapping; gaps are text that is dropped.
  std::vector<Word> words;
  /// This many first bytes of `text` are tied to offset 0 of the original text: Normalizer's
  /// origin.
  size_t origin = 0;

  /// For the steps: where the next text and the next words grow before they take their places.
  std::string spare;
  std::vector<Word> spare_words;
  size_t spare_origin = 0;

  /// Starts over with one word, the whole of `piece` (valid UTF-8 of less than 4 GiB).
  void Reset(std::string_view piece, size_t piece_origin) {
    text = piece;
    origin = piece_origin;
    words.clear();
    if (!piece.empty()) words.push_back({0, static_cast<uint32_t>(piece.size())});
  }

  std::string_view TextOf(Word word) const {
    return text.substr(word.begin, word.end - word.begin);
  }

  /// What of `word` is tied to offset 0 of the original text.
  std::string_view OriginOf(Word word) const {
    return text.substr(word.begin, std::clamp<size_t>(origin, word.begin, word.end) - word.begin);
  }

  /// Spare words take the place of the words.
  void CommitWords() {
    words.swap(spare_words);
    spare_words.clear();
  }

  /// Spare text, words and origin take the places of the others. Invalid when the text is too
  /// large for offsets of 32 bits.
  Status CommitText();
};

/// One step that cuts, drops or rewrites text before the model sees it. Immutable, thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  /// Cuts (and rewrites) the words of `piece`. Invalid where the reference fails.
  virtual Status PreTokenize(PieceText* piece) const = 0;
};

/// The steps of a `pre_tokenizer` component.
struct PreTokenizerPlan {
  /// nullptr: every piece is one word.
  std::unique_ptr<const PreTokenizer> steps;
  /// The words are bytes, which a byte-level model takes as they are.
  bool maps_bytes = false;
  /// One scanner of bytes that does all of the steps, if there is one; maps_bytes is set then.
  struct ByteScanner {
    SplitPattern pattern;
    bool add_prefix_space;
  };
  std::optional<ByteScanner> scanner;
  /// A ByteLevel is among the components.
  bool has_byte_level = false;
  /// A step asks whether words begin at offset 0 of the original text: pieces come with their
  /// origin.
  bool asks_for_origin = false;
};

/// Reads a `pre_tokenizer` component; null gives no steps. `leave_bytes`: a ByteLevel at the end
/// leaves its mapping of bytes to characters out and sets maps_bytes. NotImplemented for what the
/// native engine does not take.
Result<PreTokenizerPlan> MakePreTokenizer(simdjson::dom::element component, bool leave_bytes);

}  // namespace easydata::tokenizers
