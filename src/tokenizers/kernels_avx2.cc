// Kernels for processors with AVX2, BMI2 and SSE4.2.

#include "tokenizers/simd_types.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "easydata/base/hash.h"
#include "tokenizers/model/word_encoder.h"
#include "tokenizers/pretokenize/next_pretoken.h"
#include "tokenizers/pretokenize/scan_classes.h"
#include "tokenizers/pretokenize/window_algebra.h"
#include "tokenizers/word_bounds.h"

#define EASYDATA_LAMBDA_INLINE __attribute__((always_inline))
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt,sse4.2"))), \
                                 apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt,sse4.2")
#endif

namespace easydata::tokenizers {
namespace {

// 16 bytes of ones, then of zeros: the mask for a word of n bytes starts 16 - n bytes in.
alignas(16) constexpr uint8_t kWordMasks[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                255, 255, 255, 255, 255, 255, 255, 255};

struct Isa {
  struct Window {
    __m256i low;
    __m256i high;
  };

  struct Classes {
    Window window;
    Window wide;  // classes of characters beyond ASCII
    bool has_wide;
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

  static inline __attribute__((always_inline)) __m256i Byte(uint8_t value) {
    return _mm256_set1_epi8(static_cast<char>(value));
  }

  static inline __attribute__((always_inline)) uint64_t Join(__m256i low, __m256i high) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(low)) |
           static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(high))) << 32;
  }

  // Bytes from `first` to `last`, as signed numbers, which ASCII is.
  static inline __attribute__((always_inline)) uint64_t Between(Window window, char first,
                                                                char last) {
    const __m256i below = _mm256_set1_epi8(static_cast<char>(first - 1));
    const __m256i above = _mm256_set1_epi8(static_cast<char>(last + 1));
    return Join(_mm256_and_si256(_mm256_cmpgt_epi8(window.low, below),
                                 _mm256_cmpgt_epi8(above, window.low)),
                _mm256_and_si256(_mm256_cmpgt_epi8(window.high, below),
                                 _mm256_cmpgt_epi8(above, window.high)));
  }

  static inline __attribute__((always_inline)) uint64_t Wide(Window window) {
    return Join(window.low, window.high);
  }

  static inline __attribute__((always_inline)) uint64_t Continuations(Window window) {
    const __m256i limit = Byte(0xC0);
    return Join(_mm256_cmpgt_epi8(limit, window.low), _mm256_cmpgt_epi8(limit, window.high));
  }

  static inline __attribute__((always_inline)) uint64_t AtLeast(Window window, uint8_t value) {
    const __m256i limit = Byte(value);
    return Join(_mm256_cmpeq_epi8(_mm256_max_epu8(window.low, limit), window.low),
                _mm256_cmpeq_epi8(_mm256_max_epu8(window.high, limit), window.high));
  }

  static inline __attribute__((always_inline)) uint64_t Equal(Window window, char value) {
    const __m256i bytes = _mm256_set1_epi8(value);
    return Join(_mm256_cmpeq_epi8(window.low, bytes), _mm256_cmpeq_epi8(window.high, bytes));
  }

  // ASCII is classified by comparisons, for the classes that are asked for only.
  static inline __attribute__((always_inline)) Classes AsciiClasses(Window window, uint64_t wide) {
    const __m256i none = _mm256_setzero_si256();
    return {window, {none, none}, wide != 0};
  }

  static inline __attribute__((always_inline)) uint64_t Test(const Classes& classes,
                                                             uint8_t any_of) {
    const Window window = classes.window;
    const auto lower = [&]() EASYDATA_LAMBDA_INLINE { return Between(window, 'a', 'z'); };
    const auto upper = [&]() EASYDATA_LAMBDA_INLINE { return Between(window, 'A', 'Z'); };
    const auto digit = [&]() EASYDATA_LAMBDA_INLINE { return Between(window, '0', '9'); };
    uint64_t ascii = 0;
    if ((any_of & (kScanLetter | kScanUpper)) != 0) ascii |= upper();
    if ((any_of & (kScanLetter | kScanLower)) != 0) ascii |= lower();
    if ((any_of & kScanNumber) != 0) ascii |= digit();
    if ((any_of & kScanSpace) != 0) ascii |= Equal(window, ' ') | Between(window, '\t', '\r');
    if ((any_of & kScanPunctuation) != 0) {
      ascii |= Between(window, '!', '~') & ~(upper() | lower() | digit());
    }
    if (!classes.has_wide) return ascii;
    const __m256i bits = Byte(any_of);
    const __m256i none = _mm256_setzero_si256();
    return ascii | ~Join(_mm256_cmpeq_epi8(_mm256_and_si256(classes.wide.low, bits), none),
                         _mm256_cmpeq_epi8(_mm256_and_si256(classes.wide.high, bits), none));
  }

  // Every byte's successor; zero after the last.
  static inline __attribute__((always_inline)) Window Next(Window window) {
    const __m256i middle = _mm256_permute2x128_si256(window.low, window.high, 0x21);
    const __m256i rest = _mm256_permute2x128_si256(window.high, window.high, 0x81);
    return {_mm256_alignr_epi8(middle, window.low, 1), _mm256_alignr_epi8(rest, window.high, 1)};
  }

  // Entries of 64 by the low six bits of each byte.
  static inline __attribute__((always_inline)) __m256i LookUp(const uint8_t* row, __m256i bytes) {
    const auto quarter = [&](int i) EASYDATA_LAMBDA_INLINE {
      const __m256i entries = _mm256_broadcastsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + 16 * i)));
      return _mm256_shuffle_epi8(entries, _mm256_and_si256(bytes, Byte(0x0F)));
    };
    const __m256i odd = _mm256_slli_epi16(bytes, 3);
    return _mm256_blendv_epi8(_mm256_blendv_epi8(quarter(0), quarter(1), odd),
                              _mm256_blendv_epi8(quarter(2), quarter(3), odd),
                              _mm256_slli_epi16(bytes, 2));
  }

  static inline __attribute__((always_inline)) Window EqualBytes(Window window, char value) {
    const __m256i bytes = _mm256_set1_epi8(value);
    return {_mm256_cmpeq_epi8(window.low, bytes), _mm256_cmpeq_epi8(window.high, bytes)};
  }

  static inline __attribute__((always_inline)) Window And(Window a, Window b) {
    return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
  }

  // Chinese and Korean are classified by their first two bytes; of others, all that share all bytes
  // but the last are looked up at once.
  static inline __attribute__((always_inline)) void AddWideClasses(const char* p, Window window,
                                                                   uint64_t leads,
                                                                   const uint8_t* table,
                                                                   Classes* classes) {
    const Window second = Next(window);
    uint64_t rest = leads;
    if ((leads & AtLeast(window, 0xE4)) != 0) {
      const auto add = [&](__m256i first, __m256i next, __m256i* wide) EASYDATA_LAMBDA_INLINE {
        const auto from = [&](__m256i bytes, uint8_t value) EASYDATA_LAMBDA_INLINE {
          return _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, Byte(value)), bytes);
        };
        const auto is = [&](uint8_t value) EASYDATA_LAMBDA_INLINE {
          return _mm256_cmpeq_epi8(first, Byte(value));
        };
        const __m256i chinese =
            _mm256_or_si256(_mm256_andnot_si256(from(first, 0xE9), from(first, 0xE5)),
                            _mm256_or_si256(_mm256_and_si256(is(0xE4), from(next, 0xB8)),
                                            _mm256_andnot_si256(from(next, 0xBE), is(0xE9))));
        const __m256i korean =
            _mm256_or_si256(_mm256_or_si256(is(0xEB), is(0xEC)),
                            _mm256_or_si256(_mm256_and_si256(is(0xEA), from(next, 0xB0)),
                                            _mm256_andnot_si256(from(next, 0x9E), is(0xED))));
        *wide = _mm256_or_si256(_mm256_and_si256(chinese, Byte(kScanLetter | kScanCjk)),
                                _mm256_and_si256(korean, Byte(kScanLetter)));
        return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(chinese, korean)));
      };
      const uint64_t low = add(window.low, second.low, &classes->wide.low);
      const uint64_t high = add(window.high, second.high, &classes->wide.high);
      rest &= ~(low | high << 32);
    }
    const auto* bytes = reinterpret_cast<const uint8_t*>(p);
    while (rest != 0) {
      const int i = __builtin_ctzll(rest);
      Window same = EqualBytes(window, p[i]);
      size_t row;
      Window last = second;
      if (bytes[i] < 0xE0) {
        row = bytes[i] & 0x1F;
      } else {
        const Window third = Next(second);
        same = And(same, EqualBytes(second, p[i + 1]));
        row = (bytes[i] & 0x0Fu) << 6 | (bytes[i + 1] & 0x3Fu);
        last = third;
        if (bytes[i] >= 0xF0) {
          same = And(same, EqualBytes(third, p[i + 2]));
          row = (bytes[i] & 0x07u) << 12 | (bytes[i + 1] & 0x3Fu) << 6 | (bytes[i + 2] & 0x3Fu);
          last = Next(third);
        }
      }
      const uint8_t* const entries = table + row * 64;
      Window* const wide = &classes->wide;
      wide->low = _mm256_blendv_epi8(wide->low, LookUp(entries, last.low), same.low);
      wide->high = _mm256_blendv_epi8(wide->high, LookUp(entries, last.high), same.high);
      rest &= ~Join(same.low, same.high);
    }
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

  static inline __attribute__((always_inline)) unsigned EqualWords(const WordLine* line,
                                                                   __m128i key) {
    const __m256i keys = _mm256_broadcastsi128_si256(key);
    const auto equal = [&](int half) EASYDATA_LAMBDA_INLINE {
      const __m256i words = _mm256_load_si256(reinterpret_cast<const __m256i*>(line) + half);
      return static_cast<unsigned>(
          _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(words, keys))));
    };
    return equal(0) | equal(1) << 4;
  }

  static inline __attribute__((always_inline)) void Unpack(const uint64_t* packed, int32_t* out) {
    constexpr int kBits = WordTable::kPackedBits;
    for (int half = 0; half < 2; ++half) {
      const __m256i shifted =
          _mm256_srlv_epi64(_mm256_set1_epi64x(static_cast<int64_t>(packed[half])),
                            _mm256_setr_epi64x(0, kBits, 2 * kBits, 0));
      const __m256i ids = _mm256_and_si256(shifted, _mm256_set1_epi64x(WordTable::kPackedMask));
      const __m256i low =
          _mm256_permutevar8x32_epi32(ids, _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 3 * half), _mm256_castsi256_si128(low));
    }
  }
};

#include "tokenizers/pretokenize/window_scanner.inc"
#include "tokenizers/simd_kernels.inc"

const Kernels kAvx2 = {"avx2",
                       WindowSplits(std::make_index_sequence<kNumSplitPatterns>()),
                       HashKey,
                       EncodeRun<PretokenRun>,
                       EncodeRun<WordRun>,
                       MergeScalar};

}  // namespace
}  // namespace easydata::tokenizers

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace easydata::tokenizers {

const Kernels* Avx2Kernels() { return &kAvx2; }

}  // namespace easydata::tokenizers

#else

namespace easydata::tokenizers {

const Kernels* Avx2Kernels() { return nullptr; }

}  // namespace easydata::tokenizers

#endif
