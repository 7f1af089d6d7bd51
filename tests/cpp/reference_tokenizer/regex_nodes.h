#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "reference_tokenizer/regex.h"
#include "reference_tokenizer/unicode.h"

namespace easydata::tokenizers::reference {

using Next = std::function<bool(size_t)>;
using Predicate = std::function<bool(char32_t)>;

class RegexNode {
 public:
  virtual ~RegexNode() = default;
  // Whether the node matches at `at` in such a way that `next` takes what follows.
  virtual bool Match(const Chars& text, size_t at, const Next& next) const = 0;
  // The characters that it takes, if it always takes exactly one.
  virtual const Predicate* one() const { return nullptr; }
};

using Node = std::unique_ptr<RegexNode>;

class One final : public RegexNode {
 public:
  explicit One(Predicate predicate) : predicate_(std::move(predicate)) {}
  bool Match(const Chars& text, size_t at, const Next& next) const override {
    return at < text.size() && predicate_(text[at]) && next(at + 1);
  }
  const Predicate* one() const override { return &predicate_; }

 private:
  Predicate predicate_;
};

class Sequence final : public RegexNode {
 public:
  explicit Sequence(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}
  bool Match(const Chars& text, size_t at, const Next& next) const override {
    return From(0, text, at, next);
  }

 private:
  bool From(size_t i, const Chars& text, size_t at, const Next& next) const {
    if (i == nodes_.size()) return next(at);
    return nodes_[i]->Match(text, at, [&, i](size_t end) { return From(i + 1, text, end, next); });
  }
  std::vector<Node> nodes_;
};

class Alternatives final : public RegexNode {
 public:
  explicit Alternatives(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}
  bool Match(const Chars& text, size_t at, const Next& next) const override {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [&](const Node& node) { return node->Match(text, at, next); });
  }

 private:
  std::vector<Node> nodes_;
};

class Repeat final : public RegexNode {
 public:
  Repeat(Node node, size_t min, size_t max, bool greedy)
      : node_(std::move(node)), min_(min), max_(max), greedy_(greedy) {}

  bool Match(const Chars& text, size_t at, const Next& next) const override {
    if (node_->one() == nullptr) return From(0, text, at, next);
    size_t most = 0;  // no recursion: runs may be long
    while (most < max_ && at + most < text.size() && (*node_->one())(text[at + most])) ++most;
    if (most < min_) return false;
    for (size_t k = 0; k <= most - min_; ++k) {
      if (next(at + (greedy_ ? most - k : min_ + k))) return true;
    }
    return false;
  }

 private:
  bool From(size_t count, const Chars& text, size_t at, const Next& next) const {
    const auto more = [&] {
      return count < max_ && node_->Match(text, at, [&](size_t end) {
        return end != at && From(count + 1, text, end, next);  // an empty turn leads nowhere
      });
    };
    if (count < min_) {
      return node_->Match(text, at, [&](size_t end) { return From(count + 1, text, end, next); });
    }
    return greedy_ ? more() || next(at) : next(at) || more();
  }
  Node node_;
  size_t min_, max_;
  bool greedy_;
};

// (?>...): the first way to match, no other.
class Atomic final : public RegexNode {
 public:
  explicit Atomic(Node node) : node_(std::move(node)) {}
  bool Match(const Chars& text, size_t at, const Next& next) const override {
    size_t end = 0;
    const bool found = node_->Match(text, at, [&](size_t e) {
      end = e;
      return true;
    });
    return found && next(end);
  }

 private:
  Node node_;
};

class LookAhead final : public RegexNode {
 public:
  LookAhead(Node node, bool wanted) : node_(std::move(node)), wanted_(wanted) {}
  bool Match(const Chars& text, size_t at, const Next& next) const override {
    return node_->Match(text, at, [](size_t) { return true; }) == wanted_ && next(at);
  }

 private:
  Node node_;
  bool wanted_;
};

class LookBehind final : public RegexNode {
 public:
  LookBehind(Node node, bool wanted) : node_(std::move(node)), wanted_(wanted) {}
  bool Match(const Chars& text, size_t at, const Next& next) const override {
    bool found = false;
    for (size_t begin = 0; begin <= at && !found; ++begin) {
      found = node_->Match(text, begin, [&](size_t end) { return end == at; });
    }
    return found == wanted_ && next(at);
  }

 private:
  Node node_;
  bool wanted_;
};

class Assertion final : public RegexNode {
 public:
  explicit Assertion(char32_t kind) : kind_(kind) {}
  bool Match(const Chars& text, size_t at, const Next& next) const override {
    return Holds(text, at) && next(at);
  }

 private:
  static bool IsWordHere(char32_t c) { return RegexClass("w")[c]; }
  bool Holds(const Chars& text, size_t at) const {
    const bool at_end = at == text.size();
    if (kind_ == '^') return at == 0 || (text[at - 1] == '\n' && !at_end);
    if (kind_ == '$') return at_end || text[at] == '\n';
    if (kind_ == 'A') return at == 0;
    if (kind_ == 'z') return at_end;
    const bool boundary = (at > 0 && IsWordHere(text[at - 1])) != (!at_end && IsWordHere(text[at]));
    return boundary == (kind_ == 'b');
  }
  char32_t kind_;
};

}  // namespace easydata::tokenizers::reference
