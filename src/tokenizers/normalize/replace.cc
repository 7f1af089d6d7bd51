#include "tokenizers/normalize/replace.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {
namespace {

constexpr std::string_view kTwoSpaces = "  ";

// Writes a text with matches replaced, and moves *head, the end of what is inserted or of the
// origin: what replaces a match that ends by there is part of it.
class Replacer {
 public:
  Replacer(std::string_view text, std::string_view content, size_t* head, std::string* out)
      : text_(text), content_(content), limit_(*head), head_(head), out_(out) {
    *head_ = 0;
    out_->clear();
  }

  // Matches come in order.
  void Replace(size_t begin, size_t end) {
    CopyUntil(begin);
    out_->append(content_);
    copied_ = end;
    if (end <= limit_) *head_ = out_->size();
  }

  void Finish() { CopyUntil(text_.size()); }

 private:
  void CopyUntil(size_t end) {
    if (copied_ < limit_) *head_ = out_->size() + std::min(end, limit_) - copied_;
    out_->append(text_.substr(copied_, end - copied_));
    copied_ = end;
  }

  const std::string_view text_;
  const std::string_view content_;
  const size_t limit_;
  size_t copied_ = 0;
  size_t* const head_;
  std::string* const out_;
};

}  // namespace

bool ReplaceString::IsInert(std::string_view text) const {
  if (pattern_.empty()) return text.empty() || content_.empty();
  return text.find(pattern_) == std::string_view::npos;
}

// A byte of ASCII and a content that fits a word, as for " " and "▁": no branch depends on the
// text.
void ReplaceString::ReplaceByte(std::string_view text, std::string* out) const {
  const char byte = pattern_[0];
  const size_t size = content_.size();
  uint32_t content = 0;
  std::memcpy(&content, content_.data(), size);
  const auto count = static_cast<size_t>(std::count(text.begin(), text.end(), byte));
  out->resize(text.size() + count * size + sizeof(content));
  char* to = out->data();
  for (char c : text) {
    const bool match = c == byte;
    const uint32_t word = match ? content : static_cast<uint8_t>(c);
    std::memcpy(to, &word, sizeof(word));
    to += match ? size : 1;
  }
  out->resize(static_cast<size_t>(to - out->data()));
}

Status ReplaceString::Normalize(std::string_view text, std::string* out) const {
  if (pattern_.size() == 1 && content_.size() <= sizeof(uint32_t)) {
    ReplaceByte(text, out);
    return Status::OK();
  }
  return Replacement::Normalize(text, out);
}

Status ReplaceString::NormalizeTracked(std::string_view text, size_t* inserted,
                                       std::string* out) const {
  Replacer replacer(text, content_, inserted, out);
  if (!pattern_.empty()) {
    for (size_t at = 0; (at = text.find(pattern_, at)) != std::string_view::npos;
         at += pattern_.size()) {
      replacer.Replace(at, at + pattern_.size());
    }
  } else if (!text.empty()) {
    for (size_t at = 0; at < text.size(); ++at) {
      if (!utf8::IsContinuation(text[at])) replacer.Replace(at, at);
    }
    replacer.Replace(text.size(), text.size());
  }
  replacer.Finish();
  return Status::OK();
}

Status ReplaceRegex::NormalizeTracked(std::string_view text, size_t* inserted,
                                      std::string* out) const {
  Replacer replacer(text, content_, inserted, out);
  if (!text.empty()) {
    std::vector<Regex::Match> matches;
    ARROW_RETURN_NOT_OK(regex_->FindAll(text, &matches));
    for (const Regex::Match& match : matches) replacer.Replace(match.begin, match.end);
  }
  replacer.Finish();
  return Status::OK();
}

bool ReplaceSpaceRuns::IsInert(std::string_view text) const {
  return text.find(kTwoSpaces) == std::string_view::npos;
}

Status ReplaceSpaceRuns::NormalizeTracked(std::string_view text, size_t* inserted,
                                          std::string* out) const {
  Replacer replacer(text, content_, inserted, out);
  for (size_t at = 0; (at = text.find(kTwoSpaces, at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_not_of(' ', at), text.size());
    replacer.Replace(at, end);
    at = end;
  }
  replacer.Finish();
  return Status::OK();
}

}  // namespace easydata::tokenizers
