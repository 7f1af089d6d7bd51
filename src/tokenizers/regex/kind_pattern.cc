#include "tokenizers/regex/kind_pattern.h"

namespace easydata::tokenizers {
namespace {

using Kind = RegexNode::Kind;

class PatternWriter {
 public:
  explicit PatternWriter(const CharacterKinds& kinds)
      : kinds_(kinds), line_break_(SetText(CharacterSet(U'\n'))) {}

  std::string Text(const RegexNode& node) const {
    switch (node.kind) {
      case Kind::kEmpty:
        return "(?:)";
      case Kind::kSet:
        return SetText(node.set);
      case Kind::kSequence: {
        std::string text;
        for (const RegexNode& child : node.children) text += Part(child);
        return text;
      }
      case Kind::kAlternatives: {
        std::string text;
        for (const RegexNode& child : node.children) {
          if (&child != &node.children[0]) text += '|';
          text += Text(child);
        }
        return text;
      }
      case Kind::kRepeat: {
        const RegexNode& body = node.children[0];
        std::string text = body.kind == Kind::kSet ? Text(body) : "(?:" + Text(body) + ")";
        text += "{" + std::to_string(node.min);
        if (node.max != node.min) {
          text += node.max == RegexNode::kUnbounded ? "," : "," + std::to_string(node.max);
        }
        return text + (node.lazy ? "}?" : "}");
      }
      case Kind::kAtomic:
        return "(?>" + Text(node.children[0]) + ")";
      case Kind::kLookAhead:
        return (node.negative ? "(?!" : "(?=") + Text(node.children[0]) + ")";
      case Kind::kLookBehind:
        return (node.negative ? "(?<!" : "(?<=") + Text(node.children[0]) + ")";
      case Kind::kLineStart:
        return "(?:\\A|(?<=" + line_break_ + ")(?!\\z))";
      case Kind::kLineEnd:
        return "(?=\\z|" + line_break_ + ")";
      case Kind::kTextStart:
        return "\\A";
      case Kind::kTextEnd:
        return "\\z";
      case Kind::kTextEndOrLastBreak:
        return "(?=" + line_break_ + "?\\z)";
      case Kind::kBoundary:
      case Kind::kNoBoundary: {
        const std::string word = SetText(node.set);
        const std::string behind = "(?<=" + word + ")";
        const std::string not_behind = "(?<!" + word + ")";
        const std::string ahead = "(?=" + word + ")";
        const std::string not_ahead = "(?!" + word + ")";
        const bool boundary = node.kind == Kind::kBoundary;
        return "(?:" + behind + (boundary ? not_ahead : ahead) + "|" + not_behind +
               (boundary ? ahead : not_ahead) + ")";
      }
    }
    return "";
  }

 private:
  std::string Part(const RegexNode& node) const {
    return node.kind == Kind::kAlternatives ? "(?:" + Text(node) + ")" : Text(node);
  }

  static std::string ByteText(size_t byte) {
    constexpr char kDigits[] = "0123456789abcdef";
    return {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }

  std::string SetText(const CharacterSet& set) const {
    const CharacterKinds::KindSet bytes = kinds_.KindsIn(set);
    if (bytes.none()) return "(?!)";
    std::string text = "[";
    for (size_t first = 0; first < kinds_.size(); ++first) {
      if (!bytes[first]) continue;
      size_t last = first;
      while (last + 1 < kinds_.size() && bytes[last + 1]) ++last;
      text += ByteText(first);
      if (last > first) text += "-" + ByteText(last);
      first = last;
    }
    return text + "]";
  }

  const CharacterKinds& kinds_;
  const std::string line_break_;
};

}  // namespace

std::string PatternOverKinds(const RegexNode& node, const CharacterKinds& kinds) {
  return PatternWriter(kinds).Text(node);
}

}  // namespace easydata::tokenizers
