#include "easydata/trainer/example_context.h"

#include <arrow/array.h>

#include <algorithm>

#include "easydata/trainer/text_pieces.h"

namespace easydata::trainer {

Status TokenPlaces::Find(std::string_view text, std::span<const int32_t> ids,
                         std::vector<size_t>* ends) const {
  if (spans != nullptr && spans->Find(text, ids, ends)) return Status::OK();
  return ask(text, ids, ends);
}

bool TokenPlaces::IsSpecial(int32_t id) const {
  if (spans != nullptr) return spans->IsSpecial(id);
  return std::binary_search(special.begin(), special.end(), id);
}

Result<std::vector<std::string>> FindCuts(const tokenizers::Tokenizer& tokenizer,
                                          const std::vector<std::string>& tokens) {
  std::vector<std::string> added;
  std::vector<std::string> plain;
  for (const auto& [id, flags] : tokenizer.AddedTokenFlags()) {
    added.push_back(tokenizer.IdToToken(id).value_or(""));
    if (!flags.strips_left && !flags.strips_right) plain.push_back(added.back());
  }
  std::vector<std::string> cuts;
  for (const std::string& token : tokens) {
    if (token.empty() || std::find(plain.begin(), plain.end(), token) == plain.end()) continue;
    // Within a longer token it would be no token of its own.
    const bool is_within = std::any_of(added.begin(), added.end(), [&](const std::string& other) {
      return other != token && other.find(token) != std::string::npos;
    });
    if (is_within) continue;
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
  size_t last = 0;
  for (const std::string& token : cuts) {
    if (token.size() > limit) continue;
    const size_t at = text.substr(0, limit).rfind(token);
    if (at != std::string_view::npos) last = std::max(last, at + token.size());
  }
  return last;
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
