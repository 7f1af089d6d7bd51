// Kernels for processors with AVX-512 (F, BW, VL, VBMI, VBMI2) and BMI2.

#include "easydata/tokenizer/simd_types.h"

#if defined(__x86_64__) && defined(__GNUC__)

// GCC 12 takes the undefined operands inside its own intrinsics for uninitialized variables.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include <cstring>
#include <string_view>

#include "easydata/base/hash.h"
#include "easydata/tokenizer/model/word_encoder.h"
#include "easydata/tokenizer/pretokenize/next_pretoken.h"
#include "easydata/tokenizer/pretokenize/window_algebra.h"

#define EASYDATA_LAMBDA_INLINE __attribute__((always_inline))
#ifdef __clang__
#pragma clang attribute push(                                                                       \
        __attribute__((target(                                                                      \
                "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt,lzcnt,sse4.2"))), \
            apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt,lzcnt,sse4.2")
#endif

namespace easydata {
namespace {

enum ClassBit : uint8_t {
  kLetterBit = 1,
  kNumberBit = 2,
  kSpaceBit = 4,
  kNewlineBit = 8,
  kBlankBit = 16,
  kApostropheBit = 32,
};

struct AsciiClasses {
  alignas(64) uint8_t bits[128] = {};

  constexpr AsciiClasses() {
    for (int c = 0; c < 128; ++c) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      const bool space = c == ' ' || (c >= '\t' && c <= '\r');
      bits[c] = static_cast<uint8_t>(
          (letter ? kLetterBit : 0) | (c >= '0' && c <= '9' ? kNumberBit : 0) |
          (space ? kSpaceBit : 0) | (c == '\n' || c == '\r' ? kNewlineBit : 0) |
          (c == ' ' ? kBlankBit : 0) | (c == '\'' ? kApostropheBit : 0));
    }
  }
};

constexpr AsciiClasses kAsciiClasses;

struct WordLengths {
  alignas(16) uint8_t bytes[16][16] = {};

  constexpr WordLengths() {
    for (int i = 0; i < 16; ++i) bytes[i][15] = static_cast<uint8_t>(i);
  }
};

constexpr WordLengths kWordLengths;

struct ByteIndexes {
  alignas(64) uint8_t bytes[64] = {};

  constexpr ByteIndexes() {
    for (int i = 0; i < 64; ++i) bytes[i] = static_cast<uint8_t>(i);
  }
};

constexpr ByteIndexes kByteIndexes;

struct Isa {
  using Window = __m512i;

  static inline __attribute__((always_inline)) Window LoadWhole(const char* p) {
    return _mm512_loadu_si512(p);
  }

  static inline __attribute__((always_inline)) Window Load(const char* p, size_t size) {
    return _mm512_maskz_loadu_epi8(_bzhi_u64(~uint64_t{0}, static_cast<unsigned>(size)), p);
  }

  static inline __attribute__((always_inline)) ByteMasks Classify(Window window) {
    const __m512i classes = _mm512_permutex2var_epi8(_mm512_load_si512(kAsciiClasses.bits), window,
                                                     _mm512_load_si512(kAsciiClasses.bits + 64));
    const uint64_t wide = _mm512_movepi8_mask(window);
    const auto test = [&](uint8_t bit) EASYDATA_LAMBDA_INLINE -> uint64_t {
      return _mm512_test_epi8_mask(classes, _mm512_set1_epi8(static_cast<char>(bit)));
    };
    ByteMasks m;
    m.wide = wide;
    m.continuation = wide == 0 ? 0 : _mm512_cmplt_epi8_mask(window, _mm512_set1_epi8(-64));
    m.letter = test(kLetterBit) & ~wide;
    m.number = test(kNumberBit) & ~wide;
    m.space = test(kSpaceBit) & ~wide;
    m.newline = test(kNewlineBit) & ~wide;
    m.blank = test(kBlankBit) & ~wide;
    m.apostrophe = test(kApostropheBit) & ~wide;
    return m;
  }

  static inline __attribute__((always_inline)) size_t WriteEnds(uint64_t bits, uint32_t base,
                                                                uint32_t* ends) {
    __m512i indexes = _mm512_maskz_compress_epi8(bits, _mm512_load_si512(kByteIndexes.bytes));
    const auto count = static_cast<size_t>(__builtin_popcountll(bits));
    const __m512i bases = _mm512_set1_epi32(static_cast<int>(base));
    for (size_t written = 0; written < count; written += 16) {
      _mm512_storeu_si512(
          ends + written,
          _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(indexes)), bases));
      indexes = _mm512_alignr_epi32(indexes, indexes, 4);
    }
    return count;
  }

  static inline __attribute__((always_inline)) __m128i LoadWord(const char* p, size_t size,
                                                                const char*) {
    const auto mask = static_cast<__mmask16>(_bzhi_u32(0xFFFF, static_cast<unsigned>(size)));
    return _mm_or_si128(_mm_maskz_loadu_epi8(mask, p),
                        _mm_load_si128(reinterpret_cast<const __m128i*>(kWordLengths.bytes[size])));
  }

  static inline __attribute__((always_inline)) const WordSlot* FindSlot(const WordSlot* bucket,
                                                                        __m128i key) {
    const unsigned equal =
        _mm512_cmpeq_epi64_mask(_mm512_load_si512(bucket), _mm512_broadcast_i32x4(key));
    const bool first = (equal & 0x03) == 0x03;
    if (!first && (equal & 0x30) != 0x30) return nullptr;
    return bucket + (first ? 0 : 1);
  }
};

#include "easydata/tokenizer/simd_kernels.inc"

const Kernels kAvx512 = {"avx512",
                         {SplitWindows<SplitPattern::kGpt2>, SplitWindows<SplitPattern::kLlama3>,
                          SplitWindows<SplitPattern::kQwen2>},
                         HashKey,
                         EncodeRun};

}  // namespace
}  // namespace easydata

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace easydata {

const Kernels* Avx512Kernels() { return &kAvx512; }

}  // namespace easydata

#else

namespace easydata {

const Kernels* Avx512Kernels() { return nullptr; }

}  // namespace easydata

#endif
