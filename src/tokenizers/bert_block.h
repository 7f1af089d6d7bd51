#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace easydata::tokenizers {

/// The classes of 64 bytes for BERT's normalizer and pre-tokenizer: bit i is of byte i. The masks
/// other than `other` say nothing about bytes that are in `other`.
struct BertBlock {
  static constexpr size_t kBytes = 64;

  uint64_t other = 0;        ///< not ASCII
  uint64_t dropped = 0;      ///< control characters
  uint64_t space = 0;        ///< white space
  uint64_t punctuation = 0;  ///< ASCII punctuation
};

/// Classifies 64 bytes and writes them to `to`, letters A to Z in lowercase if `case_bit` is 0x20
/// (as they are if 0). Both are 64 bytes, at any alignment.
inline BertBlock ClassifyBertBlock(const char* from, char case_bit, char* to) {
  BertBlock block;
#if defined(__SSE2__)
  const auto within = [](__m128i bytes, char first, char last) {
    return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8(static_cast<char>(first - 1))),
                         _mm_cmplt_epi8(bytes, _mm_set1_epi8(static_cast<char>(last + 1))));
  };
  const auto is = [](__m128i bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + i);
    const auto bits = [i](__m128i mask) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(mask))) << (16 * i);
    };
    const __m128i lowered =
        _mm_or_si128(bytes, _mm_and_si128(within(bytes, 'A', 'Z'), _mm_set1_epi8(case_bit)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to) + i, lowered);
    const __m128i space = _mm_or_si128(_mm_or_si128(is(bytes, ' '), is(bytes, '\n')),
                                       _mm_or_si128(is(bytes, '\t'), is(bytes, '\r')));
    const __m128i control =
        _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')), is(bytes, 0x7F));
    const __m128i punctuation =
        _mm_or_si128(_mm_or_si128(within(bytes, '!', '/'), within(bytes, ':', '@')),
                     _mm_or_si128(within(bytes, '[', '`'), within(bytes, '{', '~')));
    block.other |= bits(bytes);
    block.space |= bits(space);
    block.dropped |= bits(_mm_andnot_si128(space, control));
    block.punctuation |= bits(punctuation);
  }
  block.dropped &= ~block.other;
#else
  for (size_t i = 0; i < BertBlock::kBytes; ++i) {
    const auto byte = static_cast<uint8_t>(from[i]);
    const auto in = [byte](uint8_t first, uint8_t last) {
      return static_cast<uint8_t>(byte - first) <= last - first;
    };
    const bool space = byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
    to[i] = static_cast<char>(byte | (in('A', 'Z') ? case_bit : 0));
    block.other |= uint64_t{byte >= 0x80} << i;
    block.space |= uint64_t{space} << i;
    block.dropped |= uint64_t{(byte < 0x20 && !space) || byte == 0x7F} << i;
    block.punctuation |= uint64_t{in('!', '/') || in(':', '@') || in('[', '`') || in('{', '~')}
                         << i;
  }
#endif
  return block;
}

}  // namespace easydata::tokenizers
