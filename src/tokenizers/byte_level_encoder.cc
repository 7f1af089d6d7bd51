#include "tokenizers/byte_level_encoder.h"

#include <algorithm>

namespace easydata::tokenizers {
namespace {

// Memory for parts of words, as a share of that for words.
constexpr int64_t kPartsShare = 8;

// Words without spaces between them, as in Chinese, are new ones made of parts that are not; so are
// long ones. Scripts of two bytes per character have spaces.
bool GoesInParts(std::string_view word) {
  constexpr size_t kWholeBytes = 48;
  if (word.size() > kWholeBytes) return true;
  return word.size() > 6 && std::any_of(word.begin(), word.end(),
                                        [](char c) { return static_cast<uint8_t>(c) >= 0xE0; });
}

}  // namespace

ByteLevelEncoder::ByteLevelEncoder(const BpeModel* model, SplitPattern pattern,
                                   bool add_prefix_space, const SafeCuts* cuts,
                                   const Kernels* kernels, int64_t cache_bytes)
    : WordEncoder(kernels, cache_bytes - cache_bytes / kPartsShare),
      model_(model),
      split_(kernels->split[static_cast<int>(pattern)]),
      add_prefix_space_(add_prefix_space),
      parts_(model, cuts, cache_bytes / kPartsShare) {}

Status ByteLevelEncoder::Encode(std::string_view piece, size_t origin, const char* readable_end,
                                size_t limit) {
  if (add_prefix_space_ && !piece.empty() && piece[0] != ' ') {
    prefixed_.assign(" ").append(piece);
    piece = prefixed_;
    readable_end = piece.data() + piece.size();
  }
  size_t position = 0;
  while (position < piece.size() && ids().size() <= limit) {
    const size_t begin = position;
    const size_t count = split_(piece.data(), piece.size(), &position, ends_, kWordsPerRound);
    int32_t* out = ids().Reserve(position - begin + kSpareIds);
    const int32_t* end =
        kernels().encode({piece.data(), begin, ends_, count, readable_end}, this, out);
    ids().Resize(ids().size() + static_cast<size_t>(end - out));
  }
  return Status::OK();
}

size_t ByteLevelEncoder::FindCut(std::string_view piece, size_t from) const {
  if (add_prefix_space_) return std::string_view::npos;
  // No pattern has an alternative that goes on from a letter to white space, and none looks back.
  for (size_t i = std::max<size_t>(from, 1); i < piece.size(); ++i) {
    if (piece[i] != ' ' && piece[i] != '\n') continue;
    const char before = static_cast<char>(piece[i - 1] | 0x20);
    if (before >= 'a' && before <= 'z') return i;
  }
  return std::string_view::npos;
}

size_t ByteLevelEncoder::EncodeNew(std::string_view word, int32_t* out) {
  return GoesInParts(word) ? parts_.Encode(word, out) : model_->Encode(word, &scratch_, out);
}

}  // namespace easydata::tokenizers
