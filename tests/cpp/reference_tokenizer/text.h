#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// A reference implementation of the tokenizers, for tests only: what the `tokenizers` library does
/// with a tokenizer.json, step by step, with maps and loops. It shares nothing with the engine, not
/// even what is known of characters (unicode_data.h).
namespace easydata::tokenizers::reference {

/// What the library raises an error or panics at.
struct LibraryFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What this implementation does not take, or what the library does in no fixed way.
struct NotCovered : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Chars = std::u32string;

/// Code points of valid UTF-8 (else NotCovered), and back.
Chars FromUtf8(std::string_view text);
std::string ToUtf8(std::u32string_view chars);

/// A stretch of a text that a pattern matches, or one between matches.
struct Cut {
  size_t begin;
  size_t end;
  bool is_match;
};

/// The stretches of `chars`: every character that `predicate` takes is a match of its own.
std::vector<Cut> CutsOf(const Chars& chars, const std::function<bool(char32_t)>& predicate);

/// What a split does with matches.
enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// One character of a rewritten text. change 0: it stands for one old character; 1: it is new; -n:
/// it stands for one old character, and n more behind that one are gone.
struct Change {
  char32_t c;
  int change;
};

/// A piece of text on its way through the pipeline: its characters, and for each where in the
/// original it comes from. A transcription of the library's NormalizedString, with characters
/// where that one counts bytes; the spans are kept because what comes next depends on them.
class Text {
 public:
  explicit Text(Chars original);

  const Chars& chars() const { return chars_; }
  bool empty() const { return chars_.empty(); }

  /// Where the piece begins in the original text, in characters.
  size_t original_begin() const { return original_begin_; }

  /// Characters begin..end as a piece. LibraryFailure for a range that is none.
  Text Slice(size_t begin, size_t end) const;

  /// The pieces that a split at `cuts` makes; empty ones included.
  std::vector<Text> Split(const std::vector<Cut>& cuts, Behavior behavior) const;

  /// Rewrites the whole text; `removed_at_start` old characters come before the first change.
  void Transform(const std::vector<Change>& changes, size_t removed_at_start = 0);

  void Filter(const std::function<bool(char32_t)>& keep);
  void Map(const std::function<char32_t(char32_t)>& map);
  void Prepend(const Chars& prefix);
  void Replace(const std::vector<Cut>& cuts, const Chars& content);
  void Strip(bool left, bool right, const std::function<bool(char32_t)>& is_space);

 private:
  struct Span {
    size_t begin;
    size_t end;
  };

  Text() = default;
  const Span& SpanAt(size_t i) const;
  void TransformRange(size_t begin, size_t end, const std::vector<Change>& changes,
                      size_t removed_at_start);

  Chars chars_;
  std::vector<Span> spans_;  // of chars_ in the original piece
  size_t original_length_ = 0;
  size_t original_begin_ = 0;
};

}  // namespace easydata::tokenizers::reference
