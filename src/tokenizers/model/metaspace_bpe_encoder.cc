#include "tokenizers/model/metaspace_bpe_encoder.h"

#include <algorithm>

#include "tokenizers/utf8.h"

namespace easydata::tokenizers {

MetaspaceBpeEncoder::MetaspaceBpeEncoder(const MetaspaceBpe* bpe, const Kernels* kernels,
                                         int64_t cache_bytes)
    : WordEncoder(kernels, cache_bytes), bpe_(bpe) {}

bool MetaspaceBpeEncoder::Prepends(std::string_view piece, bool at_start) const {
  switch (bpe_->prepend()) {
    case MetaspaceBpe::Prepend::kNothing:
      return false;
    case MetaspaceBpe::Prepend::kSpace:
      return true;
    case MetaspaceBpe::Prepend::kMissingSpaceAtStart:
      if (!at_start) return false;
      break;
    case MetaspaceBpe::Prepend::kMissingSpace:
      break;
  }
  return !bpe_->IsSpace(utf8::Decode(piece.data()).value);
}

Status MetaspaceBpeEncoder::Encode(std::string_view piece, size_t origin, const char* readable_end,
                                   size_t limit) {
  if (piece.empty()) return Status::OK();
  size_t position = 0;
  if (Prepends(piece, origin > 0)) {
    position = bpe_->FindCutAfterSpace(piece);
    prefixed_.assign(1, ' ').append(piece.substr(0, position));
    const auto size = static_cast<uint32_t>(prefixed_.size());
    int32_t* out = ids().Reserve(size + kSpareIds);
    const int32_t* end = kernels().encode(
        {prefixed_.data(), 0, &size, 1, prefixed_.data() + prefixed_.size()}, this, out);
    ids().Resize(ids().size() + static_cast<size_t>(end - out));
  }
  return EncodeRest(piece.substr(position), readable_end, limit);
}

Status MetaspaceBpeEncoder::EncodeRest(std::string_view part, const char* readable_end,
                                       size_t limit) {
  for (size_t position = 0; position < part.size() && ids().size() <= limit;) {
    const size_t lone_end = std::min(part.size(), position + kLoneBytes);
    int32_t* lone = ids().Reserve(lone_end - position + kSpareIds);
    ids().Resize(ids().size() + bpe_->EncodeLone(part.data(), lone_end, &position, lone));
    const size_t begin = position;
    const size_t count =
        bpe_->FindParts(part.data(), part.size(), &position, ends_, kWordsPerRound);
    int32_t* out = ids().Reserve(position - begin + kSpareIds);
    const int32_t* end =
        kernels().encode({part.data(), begin, ends_, count, readable_end}, this, out);
    ids().Resize(ids().size() + static_cast<size_t>(end - out));
  }
  return Status::OK();
}

size_t MetaspaceBpeEncoder::EncodeNew(std::string_view word, int32_t* out) {
  return bpe_->EncodePart(word, &scratch_, out);
}

}  // namespace easydata::tokenizers
