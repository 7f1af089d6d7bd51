#include "tokenizers/regex/regex_node.h"

#include <algorithm>
#include <utility>

namespace easydata::tokenizers {
namespace {

using Kind = RegexNode::Kind;

int Add(int a, int b) {
  constexpr int kLarge = 1 << 28;
  if (a == RegexNode::kUnbounded || b == RegexNode::kUnbounded) return RegexNode::kUnbounded;
  return std::min(a + b, kLarge);
}

int Multiply(int a, int b) {
  constexpr int64_t kLarge = 1 << 28;
  if (a == 0 || b == 0) return 0;
  if (a == RegexNode::kUnbounded || b == RegexNode::kUnbounded) return RegexNode::kUnbounded;
  return static_cast<int>(std::min(int64_t{a} * b, kLarge));
}

}  // namespace

RegexNode RegexNode::Set(CharacterSet set) {
  RegexNode node;
  node.kind = Kind::kSet;
  node.set = std::move(set);
  return node;
}

RegexWidth WidthOf(const RegexNode& node) {
  switch (node.kind) {
    case Kind::kSet:
      return {1, 1};
    case Kind::kAtomic:
      return WidthOf(node.children[0]);
    case Kind::kRepeat: {
      const RegexWidth body = WidthOf(node.children[0]);
      return {Multiply(body.min, node.min), Multiply(body.max, node.max)};
    }
    case Kind::kSequence: {
      RegexWidth sum = {0, 0};
      for (const RegexNode& child : node.children) {
        const RegexWidth width = WidthOf(child);
        sum = {Add(sum.min, width.min), Add(sum.max, width.max)};
      }
      return sum;
    }
    case Kind::kAlternatives: {
      RegexWidth all = WidthOf(node.children[0]);
      for (const RegexNode& child : node.children) {
        const RegexWidth width = WidthOf(child);
        all.min = std::min(all.min, width.min);
        if (all.max != RegexNode::kUnbounded) {
          all.max = width.max == RegexNode::kUnbounded ? RegexNode::kUnbounded
                                                       : std::max(all.max, width.max);
        }
      }
      return all;
    }
    default:
      return {0, 0};
  }
}

}  // namespace easydata::tokenizers
