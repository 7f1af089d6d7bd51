#include "easydata/trainer/example_context.h"

#include <arrow/array.h>

#include <algorithm>
#include <cstring>

#include "easydata/trainer/text_pieces.h"

namespace easydata::trainer {

Status SpanFinder::Find(std::string_view text, std::span<const int32_t> ids,
                        std::vector<size_t>* ends) const {
  if (spans != nullptr && spans->Find(text, ids, ends)) return Status::OK();
  return ask(text, ids, ends);
}

bool SpanFinder::IsSpecial(int32_t id) const {
  if (spans != nullptr) return spans->IsSpecial(id);
  return std::binary_search(special.begin(), special.end(), id);
}

namespace {

/// Whether a text may hold `token` where it is no token: within another one, or overlapping with
/// its own end or another's.
bool IsHidden(const std::string& token, const std::string& other) {
  if (other != token && other.find(token) != std::string::npos) return true;
  for (size_t size = 1; size < std::min(token.size(), other.size()); ++size) {
    if (other.ends_with(std::string_view(token).substr(0, size))) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> FindCuts(const tokenizers::Tokenizer& tokenizer,
                                          std::string_view frame) {
  std::vector<std::string> added;
  std::vector<std::string> plain;
  for (const auto& [id, flags] : tokenizer.AddedTokenFlags()) {
    added.push_back(tokenizer.IdToToken(id).value_or(""));
    const bool is_plain = flags.special && !flags.strips_left && !flags.strips_right &&
                          !flags.normalized && !flags.single_word;
    const bool is_printed = frame.find(added.back()) != std::string_view::npos;
    if (is_plain && is_printed && !added.back().empty()) plain.push_back(added.back());
  }
  std::vector<std::string> cuts;
  for (const std::string& token : plain) {
    const bool is_hidden = std::any_of(added.begin(), added.end(), [&](const std::string& other) {
      return IsHidden(token, other);
    });
    if (is_hidden) continue;
    // Where special tokens are text like any other, it is none.
    ARROW_ASSIGN_OR_RAISE(const auto alone, EncodeText(tokenizer, token, false));
    bool is_cut = alone.size() == 1 && alone[0] == tokenizer.TokenToId(token);
    for (const std::string_view text : {"b c", " b", "\nb", "  b", "!b", "", "\xC3\xA9"}) {
      ARROW_ASSIGN_OR_RAISE(const auto whole,
                            EncodeText(tokenizer, "a " + token + std::string(text), false));
      ARROW_ASSIGN_OR_RAISE(auto parts, EncodeText(tokenizer, "a " + token, false));
      ARROW_ASSIGN_OR_RAISE(const auto rest, EncodeText(tokenizer, text, false));
      parts.insert(parts.end(), rest.begin(), rest.end());
      is_cut = is_cut && parts == whole;
    }
    if (is_cut) cuts.push_back(token);
  }
  return cuts;
}

size_t LastCut(std::string_view text, size_t limit, std::span<const std::string> cuts) {
  text = text.substr(0, limit);
  while (!text.empty()) {
    size_t end = 0;
    for (const std::string& token : cuts) {
      // The last byte of a token, from the end.
      const void* found = memrchr(text.data(), token.back(), text.size());
      if (found == nullptr) continue;
      end = std::max(end, static_cast<size_t>(static_cast<const char*>(found) - text.data()) + 1);
    }
    if (end == 0) return 0;
    text = text.substr(0, end);
    for (const std::string& token : cuts) {
      if (text.ends_with(token)) return end;
    }
    text.remove_suffix(1);
  }
  return 0;
}

Result<std::vector<int32_t>> EncodeText(const tokenizers::TextEncoder& encoder,
                                        std::string_view text, bool add_special_tokens) {
  TextPieces pieces;
  const int piece = pieces.Add(text, add_special_tokens, 0);
  int64_t bad_row = 0;
  ARROW_RETURN_NOT_OK(pieces.Encode(encoder, &bad_row));
  const auto ids = pieces.ids(piece);
  return std::vector<int32_t>(ids.begin(), ids.end());
}

Result<SpecialFrame> FindSpecialFrame(const tokenizers::TextEncoder& encoder) {
  ARROW_ASSIGN_OR_RAISE(const auto plain, EncodeText(encoder, "a", false));
  ARROW_ASSIGN_OR_RAISE(const auto framed, EncodeText(encoder, "a", true));
  const auto inner = std::search(framed.begin(), framed.end(), plain.begin(), plain.end());
  SpecialFrame frame;
  if (inner == framed.end() && !plain.empty()) return frame;
  frame.before.assign(framed.begin(), inner);
  frame.after.assign(inner + static_cast<std::ptrdiff_t>(plain.size()), framed.end());
  return frame;
}

size_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

}  // namespace easydata::trainer
