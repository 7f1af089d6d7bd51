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
