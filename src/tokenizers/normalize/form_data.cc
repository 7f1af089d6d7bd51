#include "tokenizers/normalize/form_data.h"

namespace easydata::tokenizers {

const FormData& FormData::Get() {
  static const FormData data;
  return data;
}

FormData::FormData() : pairs_(kNumPairs) {
  namespace t = unicode_tables;
  for (size_t i = 0; i < t::kNumCombiningClassRanges; ++i) {
    const auto& range = t::kCombiningClassRanges[i];
    for (uint32_t c = range.first; c <= range.last; ++c) data_.at(c) = range.value;
  }
  for (size_t i = 0; i < t::kNumCompositions; ++i) {
    const auto& composition = t::kCompositions[i];
    size_t slot = Hash(composition.first, composition.second);
    while (pairs_[slot].composed != 0) slot = (slot + 1) % kNumPairs;
    pairs_[slot] = composition;
    data_.at(composition.second) |= kSecond;
  }
  for (char32_t c = kVBase; c < kVBase + kVCount; ++c) data_.at(c) |= kSecond;
  for (char32_t c = kTBase + 1; c < kTBase + kTCount; ++c) data_.at(c) |= kSecond;
  for (char32_t c = kSBase; c < kSBase + kSCount; ++c) data_.at(c) |= kCanonical | kCompatibility;

  // NFC keeps what decomposes exactly when some pair composes to it.
  for (size_t i = 0; i < t::kNumDecompositions; ++i) {
    const auto& entry = t::kDecompositions[i];
    canonical_.at(entry.code_point) = {entry.offset, entry.length};
    compatible_.at(entry.code_point) = {entry.offset, entry.length};
    data_.at(entry.code_point) |= kCanonical | kCompatibility | kNotComposed | kNotCompatComposed;
  }
  for (size_t i = 0; i < t::kNumCompositions; ++i) {
    data_.at(t::kCompositions[i].composed) &=
        static_cast<uint16_t>(~(kNotComposed | kNotCompatComposed));
  }
  for (size_t i = 0; i < t::kNumCompatibilityDecompositions; ++i) {
    const auto& entry = t::kCompatibilityDecompositions[i];
    compatible_.at(entry.code_point) = {entry.offset, entry.length};
    data_.at(entry.code_point) |= kCompatibility | kNotCompatComposed;
  }
}

}  // namespace easydata::tokenizers
