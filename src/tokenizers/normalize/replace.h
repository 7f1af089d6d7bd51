#pragma once

#include <memory>
#include <string>

#include "tokenizers/normalize/normalizer.h"
#include "tokenizers/regex/regex.h"

namespace easydata::tokenizers {

/// Puts a string in the place of some stretches of text. What takes the place of a stretch belongs
/// to its last character: text that was inserted before the first, and the origin, end alike.
class Replacement : public Normalizer {
 public:
  Status Normalize(std::string_view text, std::string* out) const override {
    size_t inserted = 0;
    return NormalizeTracked(text, &inserted, out);
  }
  Status NormalizeWithOrigin(std::string_view text, size_t* origin,
                             std::string* out) const override {
    return NormalizeTracked(text, origin, out);
  }
};

/// Puts `content`, as it is, in the place of every occurrence of a string.
class ReplaceString final : public Replacement {
 public:
  ReplaceString(std::string_view pattern, std::string_view content)
      : pattern_(pattern), content_(content) {}

  bool IsInert(std::string_view text) const override;
  Status Normalize(std::string_view text, std::string* out) const override;
  /// The empty string occurs between all characters.
  bool may_insert() const override { return pattern_.empty() && !content_.empty(); }
  Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const override;

 private:
  void ReplaceByte(std::string_view text, std::string* out) const;

  const std::string pattern_;
  const std::string content_;
};

/// Puts `content`, as it is, in the place of every match of a regex.
class ReplaceRegex final : public Replacement {
 public:
  ReplaceRegex(std::unique_ptr<const Regex> regex, std::string_view content)
      : regex_(std::move(regex)), content_(content) {}

  bool IsInert(std::string_view text) const override { return text.empty(); }
  bool may_insert() const override { return !content_.empty() && regex_->may_match_nothing(); }
  Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const override;

 private:
  const std::unique_ptr<const Regex> regex_;
  const std::string content_;
};

/// Puts `content` in the place of every run of two spaces or more: the regex " {2,}" of many files.
class ReplaceSpaceRuns final : public Replacement {
 public:
  explicit ReplaceSpaceRuns(std::string_view content) : content_(content) {}

  bool IsInert(std::string_view text) const override;
  Status NormalizeTracked(std::string_view text, size_t* inserted, std::string* out) const override;

 private:
  const std::string content_;
};

}  // namespace easydata::tokenizers
