#pragma once

#include <memory>
#include <vector>

#include "reference_tokenizer/text.h"

namespace easydata::tokenizers::reference {

/// Part of a pattern; matches by backtracking.
class RegexNode;

/// A regular expression in Oniguruma's Ruby syntax, as far as tokenizers use it: alternatives,
/// groups, look-around of fixed text, quantifiers (possessive too), nested character sets with &&,
/// classes by property, (?i) on single ASCII letters and ss. Else NotCovered.
class Regex {
 public:
  explicit Regex(const Chars& pattern);
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  /// The stretches of `chars`, matches found one after the other as onig's find_iter steps.
  std::vector<Cut> FindAll(const Chars& chars) const;

 private:
  std::unique_ptr<RegexNode> root_;
};

/// The pattern that matches `text` and nothing else.
Chars Escape(const Chars& text);

}  // namespace easydata::tokenizers::reference
