#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizers/regex/character_kinds.h"
#include "tokenizers/regex/regex.h"
#include "tokenizers/regex/regex_node.h"

namespace easydata::tokenizers {

/// The reference implementation of a regular expression, over the kinds of characters: slow;
/// translated patterns are checked against it.
class BacktrackingMatcher {
 public:
  BacktrackingMatcher(const RegexNode& node, const CharacterKinds& kinds);

  /// The matches in `text`, a kind of character per byte, as Regex::FindAll steps; nothing when
  /// that takes more than `max_steps`.
  std::optional<std::vector<Regex::Match>> FindAll(std::string_view text, int64_t max_steps);

 private:
  struct Node {
    RegexNode::Kind kind;
    bool lazy;
    bool negative;
    int min;
    int max;
    CharacterKinds::KindSet kinds;
    std::vector<Node> children;
    size_t width;  // of a look-behind's child
  };
  /// What has to match after a node.
  struct Continuation;

  Node Prepare(const RegexNode& node, const CharacterKinds& kinds);
  bool Match(const Node& node, size_t at, const Continuation& next);
  bool MatchSequence(const Node& node, size_t child, size_t at, const Continuation& next);
  bool MatchRepeat(const Node& node, int done, size_t at, const Continuation& next);
  bool MatchesAlone(const Node& node, size_t at, size_t* end);
  bool LooksBehind(const Node& node, size_t at);
  bool IsLineBreak(size_t at) const { return line_break_[static_cast<uint8_t>(text_[at])]; }

  CharacterKinds::KindSet line_break_;
  Node root_;
  std::string_view text_;
  int64_t steps_left_ = 0;
};

}  // namespace easydata::tokenizers
