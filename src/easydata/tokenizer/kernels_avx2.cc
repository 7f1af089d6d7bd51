// Kernels for processors with AVX2, BMI2 and SSE4.2.

#include "easydata/tokenizer/simd_types.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <cstring>
#include <string_view>

#include "easydata/base/hash.h"
#include "easydata/tokenizer/model/word_encoder.h"
#include "easydata/tokenizer/pretokenize/next_pretoken.h"
#include "easydata/tokenizer/pretokenize/window_algebra.h"
#include "easydata/tokenizer/word_bounds.h"

#define EASYDATA_LAMBDA_INLINE __attribute__((always_inline))
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt,sse4.2"))), \
                                 apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt,sse4.2")
#endif

namespace easydata {
namespace {

// 16 bytes of ones, then of zeros: the mask for a word of n bytes starts 16 - n bytes in.
alignas(16) constexpr uint8_t kWordMasks[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                255, 255, 255, 255, 255, 255, 255, 255};

struct Isa {
  struct Window {
    __m256i low;
    __m256i high;
  };

  static inline __attribute__((always_inline)) Window LoadWhole(const char* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
  }

  static inline __attribute__((always_inline)) Window Load(const char* p, size_t size) {
    alignas(32) char bytes[64] = {};
    std::memcpy(bytes, p, size);
    return LoadWhole(bytes);
  }

  // Bytes from `first` to `last`, as signed numbers, which ASCII is.
  static inline __attribute__((always_inline)) __m256i Between(__m256i bytes, char first,
                                                               char last) {
    return _mm256_and_si256(
        _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8(static_cast<char>(first - 1))),
        _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(last + 1)), bytes));
  }

  static inline __attribute__((always_inline)) __m256i Equal(__m256i bytes, char value) {
    return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(value));
  }

  static inline __attribute__((always_inline)) uint64_t Join(__m256i low, __m256i high) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
           static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(high))) << 32;
  }

  static inline __attribute__((always_inline)) ByteMasks Classify(const Window& window) {
    const __m256i a = window.low;
    const __m256i b = window.high;
    const __m256i lower = _mm256_set1_epi8(0x20);
    ByteMasks m;
    m.wide = Join(a, b);
    m.continuation = m.wide == 0 ? 0
                                 : Join(_mm256_cmpgt_epi8(_mm256_set1_epi8(-64), a),
                                        _mm256_cmpgt_epi8(_mm256_set1_epi8(-64), b));
    m.letter = Join(Between(_mm256_or_si256(a, lower), 'a', 'z'),
                    Between(_mm256_or_si256(b, lower), 'a', 'z'));
    m.number = Join(Between(a, '0', '9'), Between(b, '0', '9'));
    m.blank = Join(Equal(a, ' '), Equal(b, ' '));
    m.space = m.blank | Join(Between(a, '\t', '\r'), Between(b, '\t', '\r'));
    m.newline = Join(_mm256_or_si256(Equal(a, '\n'), Equal(a, '\r')),
                     _mm256_or_si256(Equal(b, '\n'), Equal(b, '\r')));
    m.apostrophe = Join(Equal(a, '\''), Equal(b, '\''));
    return m;
  }

  static inline __attribute__((always_inline)) size_t WriteEnds(uint64_t bits, uint32_t base,
                                                                uint32_t* ends) {
    const auto count = static_cast<size_t>(__builtin_popcountll(bits));
    for (size_t written = 0; written < count; written += 8) {
      for (size_t i = 0; i < 8; ++i) {
        ends[written + i] = base + static_cast<uint32_t>(_tzcnt_u64(bits));
        bits = _blsr_u64(bits);
      }
    }
    return count;
  }

  static inline __attribute__((always_inline)) __m128i LoadWord(const char* p, size_t size,
                                                                const char* readable_end) {
    __m128i word;
    if (readable_end - p >= 16) {
      word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      word = _mm_and_si128(
          word, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kWordMasks + 16 - size)));
    } else {
      alignas(16) char bytes[16] = {};
      std::memcpy(bytes, p, size);
      word = _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
    }
    return _mm_or_si128(word,
                        _mm_set_epi64x(static_cast<int64_t>(static_cast<uint64_t>(size) << 56), 0));
  }

  static inline __attribute__((always_inline)) const WordSlot* FindSlot(const WordSlot* bucket,
                                                                        __m128i key) {
    const auto equals = [&](const WordSlot* slot) EASYDATA_LAMBDA_INLINE {
      const __m128i other = _mm_load_si128(reinterpret_cast<const __m128i*>(&slot->key));
      return _mm_movemask_epi8(_mm_cmpeq_epi8(other, key)) == 0xFFFF;
    };
    const bool first = equals(bucket);
    if (!first && !equals(bucket + 1)) return nullptr;
    return bucket + (first ? 0 : 1);
  }
};

#include "easydata/tokenizer/simd_kernels.inc"

const Kernels kAvx2 = {"avx2",
                       {SplitWindows<SplitPattern::kGpt2>, SplitWindows<SplitPattern::kLlama3>,
                        SplitWindows<SplitPattern::kQwen2>},
                       HashKey,
                       EncodeRun<PretokenRun>,
                       EncodeRun<WordRun>,
                       MergeScalar};

}  // namespace
}  // namespace easydata

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace easydata {

const Kernels* Avx2Kernels() { return &kAvx2; }

}  // namespace easydata

#else

namespace easydata {

const Kernels* Avx2Kernels() { return nullptr; }

}  // namespace easydata

#endif
