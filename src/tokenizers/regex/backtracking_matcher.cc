#include "tokenizers/regex/backtracking_matcher.h"

#include <algorithm>

namespace easydata::tokenizers {

using Kind = RegexNode::Kind;

struct BacktrackingMatcher::Continuation {
  bool (*function)(const void* context, size_t at);
  const void* context;

  template <typename F>
  static Continuation To(const F& f) {
    return {[](const void* context, size_t at) { return (*static_cast<const F*>(context))(at); },
            &f};
  }

  bool operator()(size_t at) const { return function(context, at); }
};

BacktrackingMatcher::BacktrackingMatcher(const RegexNode& node, const CharacterKinds& kinds)
    : line_break_(kinds.KindsIn(CharacterSet(U'\n'))), root_(Prepare(node, kinds)) {}

BacktrackingMatcher::Node BacktrackingMatcher::Prepare(const RegexNode& node,
                                                       const CharacterKinds& kinds) {
  Node prepared = {node.kind, node.lazy, node.negative, node.min, node.max, kinds.KindsIn(node.set),
                   {},        0};
  for (const RegexNode& child : node.children) prepared.children.push_back(Prepare(child, kinds));
  if (node.kind == Kind::kLookBehind) {
    prepared.width = static_cast<size_t>(WidthOf(node.children[0]).max);
  }
  return prepared;
}

bool BacktrackingMatcher::Match(const Node& node, size_t at, const Continuation& next) {
  if (--steps_left_ < 0) return false;
  const bool at_end = at == text_.size();
  switch (node.kind) {
    case Kind::kEmpty:
      return next(at);
    case Kind::kSet:
      return !at_end && node.kinds[static_cast<uint8_t>(text_[at])] && next(at + 1);
    case Kind::kSequence:
      return MatchSequence(node, 0, at, next);
    case Kind::kAlternatives:
      return std::any_of(node.children.begin(), node.children.end(),
                         [&](const Node& child) { return Match(child, at, next); });
    case Kind::kRepeat:
      return MatchRepeat(node, 0, at, next);
    case Kind::kAtomic: {
      size_t end;
      return MatchesAlone(node.children[0], at, &end) && next(end);
    }
    case Kind::kLookAhead: {
      size_t end;
      return MatchesAlone(node.children[0], at, &end) != node.negative && next(at);
    }
    case Kind::kLookBehind:
      return LooksBehind(node, at) != node.negative && next(at);
    case Kind::kLineStart:
      return (at == 0 || (IsLineBreak(at - 1) && !at_end)) && next(at);
    case Kind::kLineEnd:
      return (at_end || IsLineBreak(at)) && next(at);
    case Kind::kTextStart:
      return at == 0 && next(at);
    case Kind::kTextEnd:
      return at_end && next(at);
    case Kind::kTextEndOrLastBreak:
      return (at_end || (at + 1 == text_.size() && IsLineBreak(at))) && next(at);
    case Kind::kBoundary:
    case Kind::kNoBoundary: {
      const bool before = at > 0 && node.kinds[static_cast<uint8_t>(text_[at - 1])];
      const bool after = !at_end && node.kinds[static_cast<uint8_t>(text_[at])];
      return (before != after) == (node.kind == Kind::kBoundary) && next(at);
    }
  }
  return false;
}

bool BacktrackingMatcher::MatchSequence(const Node& node, size_t child, size_t at,
                                        const Continuation& next) {
  if (child == node.children.size()) return next(at);
  const auto rest = [&](size_t end) { return MatchSequence(node, child + 1, end, next); };
  return Match(node.children[child], at, Continuation::To(rest));
}

bool BacktrackingMatcher::MatchRepeat(const Node& node, int done, size_t at,
                                      const Continuation& next) {
  const auto again = [&](size_t end) { return MatchRepeat(node, done + 1, end, next); };
  const bool may_repeat = node.max == RegexNode::kUnbounded || done < node.max;
  if (done < node.min) return Match(node.children[0], at, Continuation::To(again));
  if (node.lazy) {
    return next(at) || (may_repeat && Match(node.children[0], at, Continuation::To(again)));
  }
  return (may_repeat && Match(node.children[0], at, Continuation::To(again))) || next(at);
}

bool BacktrackingMatcher::MatchesAlone(const Node& node, size_t at, size_t* end) {
  const auto stop = [&](size_t reached) {
    *end = reached;
    return true;
  };
  return Match(node, at, Continuation::To(stop));
}

bool BacktrackingMatcher::LooksBehind(const Node& node, size_t at) {
  const auto stop = [&](size_t reached) { return reached == at; };
  for (size_t width = 0; width <= std::min(at, node.width); ++width) {
    if (Match(node.children[0], at - width, Continuation::To(stop))) return true;
  }
  return false;
}

std::optional<std::vector<Regex::Match>> BacktrackingMatcher::FindAll(std::string_view text,
                                                                      int64_t max_steps) {
  text_ = text;
  steps_left_ = max_steps;
  std::vector<Regex::Match> matches;
  for (size_t at = 0; at <= text.size();) {
    size_t begin = at;
    size_t end = 0;
    while (begin <= text.size() && !MatchesAlone(root_, begin, &end)) ++begin;
    if (steps_left_ < 0) return std::nullopt;
    if (begin > text.size()) break;
    if (begin == end && !matches.empty() && matches.back().end == end) {
      ++at;
      continue;
    }
    matches.push_back({begin, end});
    at = end;
  }
  return matches;
}

}  // namespace easydata::tokenizers
