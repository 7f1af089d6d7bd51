#include "tokenizers/regex/caseless_runs.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizers/regex/character_set.h"

namespace easydata::tokenizers {
namespace {

using Kind = RegexNode::Kind;

// A character under (?i), and the node that has seen to it matching as one with its neighbours; 0
// for none.
struct CaselessCharacter {
  char32_t character;
  int node;
};

using CaselessRun = std::vector<CaselessCharacter>;

// Collects the characters that a pattern matches in a row and that are all under (?i).
class CaselessRuns {
 public:
  explicit CaselessRuns(const RegexNode& root) : runs_(1) { Append(root, &runs_); }

  /// See HasOpenFolds.
  bool have_open_folds() const { return std::any_of(runs_.begin(), runs_.end(), HasOpenFolds); }

 private:
  static bool HasOpenFolds(const CaselessRun& run) {
    for (size_t begin = 0; begin < run.size(); ++begin) {
      if (MultiFoldCharacters().Contains(run[begin].character)) return true;
      std::u32string text;
      bool seen_to = run[begin].node != 0;
      for (size_t i = begin; i < run.size() && text.size() < kMaxFold; ++i) {
        text.push_back(run[i].character);
        seen_to = seen_to && run[i].node == run[begin].node;
        if (!seen_to && !CharactersFoldingTo(text).empty()) return true;
      }
    }
    return false;
  }

  // The first of the node's runs goes on from the last of *runs.
  void Append(const RegexNode& node, std::vector<CaselessRun>* runs) {
    if (!node.folded_run.empty()) {
      ++num_nodes_;
      for (const char32_t c : node.folded_run) runs->back().push_back({c, num_nodes_});
      return;
    }
    switch (node.kind) {
      case Kind::kSet:
        if (node.is_caseless_literal) {
          runs->back().push_back({node.literal, 0});
        } else {
          runs->emplace_back();
        }
        return;
      case Kind::kEmpty:
        return;
      case Kind::kSequence:
      case Kind::kAtomic:
        for (const RegexNode& child : node.children) Append(child, runs);
        return;
      case Kind::kRepeat: {
        // Once, and where one repetition follows another.
        std::vector<CaselessRun> body(1);
        Append(node.children[0], &body);
        CaselessRun again(body[0].begin(), body[0].begin() + static_cast<ptrdiff_t>(std::min(
                                                                 body[0].size(), kMaxFold)));
        for (CaselessCharacter& c : again) c.node = -c.node;
        runs->back().insert(runs->back().end(), body[0].begin(), body[0].end());
        runs->insert(runs->end(), body.begin() + 1, body.end());
        runs->back().insert(runs->back().end(), again.begin(), again.end());
        return;
      }
      default:
        for (const RegexNode& child : node.children) {
          runs->emplace_back();
          Append(child, runs);
        }
        runs->emplace_back();
    }
  }

  std::vector<CaselessRun> runs_;
  int num_nodes_ = 0;
};

// The characters of `run` under (?i). Oniguruma takes, from the left, the most of them that match
// as one for a part of its own; what overlaps with that does not match as one.
RegexNode FoldedRun(std::u32string_view run) {
  RegexNode sequence;
  sequence.kind = Kind::kSequence;
  for (size_t begin = 0; begin < run.size();) {
    size_t size = std::min(kMaxFold, run.size() - begin);
    CharacterSet together;
    for (; size > 1; --size) {
      together = CharactersFoldingTo(run.substr(begin, size));
      if (!together.empty()) break;
    }
    RegexNode singly;
    singly.kind = Kind::kSequence;
    for (size_t i = 0; i < size; ++i) {
      singly.children.push_back(RegexNode::Set(CharacterSet(run[begin + i]).CaseFolded()));
    }
    if (together.empty()) {
      sequence.children.push_back(std::move(singly));
    } else {
      RegexNode either;
      either.kind = Kind::kAlternatives;
      either.children.push_back(RegexNode::Set(std::move(together)));
      either.children.push_back(std::move(singly));
      sequence.children.push_back(std::move(either));
    }
    begin += size;
  }
  return sequence;
}

}  // namespace

void JoinFolds(std::vector<RegexNode>* parts) {
  for (size_t begin = 0; begin < parts->size(); ++begin) {
    std::u32string run;
    bool has_folds = false;
    while (begin + run.size() < parts->size() && (*parts)[begin + run.size()].is_caseless_literal) {
      run.push_back((*parts)[begin + run.size()].literal);
      for (size_t size = 2; size <= std::min(kMaxFold, run.size()); ++size) {
        has_folds = has_folds || !CharactersFoldingTo(run.substr(run.size() - size)).empty();
      }
    }
    if (has_folds) {
      RegexNode joined = FoldedRun(run);
      joined.folded_run = run;
      const auto first = parts->begin() + static_cast<ptrdiff_t>(begin);
      parts->erase(first + 1, first + static_cast<ptrdiff_t>(run.size()));
      *first = std::move(joined);
    } else if (!run.empty()) {
      begin += run.size() - 1;
    }
  }
}

bool HasOpenFolds(const RegexNode& root) { return CaselessRuns(root).have_open_folds(); }

}  // namespace easydata::tokenizers
