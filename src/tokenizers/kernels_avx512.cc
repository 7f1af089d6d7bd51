// Kernels for processors with AVX-512 (F, BW, VL, VBMI, VBMI2) and BMI2.

#include "tokenizers/simd_types.h"

#if defined(__x86_64__) && defined(__GNUC__)

// GCC 12 takes the undefined operands inside its own intrinsics for uninitialized variables.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

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
#pragma clang attribute push(                                                                       \
        __attribute__((target(                                                                      \
                "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt,lzcnt,sse4.2"))), \
            apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt,lzcnt,sse4.2")
#endif

namespace easydata::tokenizers {
namespace {

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
  using Classes = __m512i;

  static inline __attribute__((always_inline)) __m512i Byte(uint8_t value) {
    return _mm512_set1_epi8(static_cast<char>(value));
  }

  static inline __attribute__((always_inline)) Window LoadWhole(const char* p) {
    return _mm512_loadu_si512(p);
  }

  static inline __attribute__((always_inline)) Window Load(const char* p, size_t size) {
    return _mm512_maskz_loadu_epi8(_bzhi_u64(~uint64_t{0}, static_cast<unsigned>(size)), p);
  }

  static inline __attribute__((always_inline)) uint64_t Wide(Window window) {
    return _mm512_movepi8_mask(window);
  }

  static inline __attribute__((always_inline)) uint64_t Continuations(Window window) {
    return _mm512_cmplt_epi8_mask(window, Byte(0xC0));
  }

  static inline __attribute__((always_inline)) uint64_t AtLeast(Window window, uint8_t value) {
    return _mm512_cmpge_epu8_mask(window, Byte(value));
  }

  static inline __attribute__((always_inline)) uint64_t Equal(Window window, char value) {
    return _mm512_cmpeq_epi8_mask(window, _mm512_set1_epi8(value));
  }

  static inline __attribute__((always_inline)) Classes AsciiClasses(Window window, uint64_t wide) {
    return _mm512_maskz_permutex2var_epi8(~wide, _mm512_load_si512(kAsciiScanClasses.classes),
                                          window,
                                          _mm512_load_si512(kAsciiScanClasses.classes + 64));
  }

  static inline __attribute__((always_inline)) uint64_t Test(Classes classes, uint8_t any_of) {
    return _mm512_test_epi8_mask(classes, Byte(any_of));
  }

  // Chinese and Korean are classified by their first two bytes; of others, all that share all bytes
  // but the last are looked up at once.
  static inline __attribute__((always_inline)) void AddWideClasses(const char* p, Window window,
                                                                   uint64_t leads,
                                                                   const uint8_t* table,
                                                                   Classes* classes) {
    const __m512i next_indices = _mm512_add_epi8(_mm512_load_si512(kByteIndexes.bytes), Byte(1));
    const __m512i second = _mm512_maskz_permutexvar_epi8(~uint64_t{0} >> 1, next_indices, window);
    uint64_t rest = leads;
    if ((leads & AtLeast(window, 0xE4)) != 0) {
      const auto from = [&](uint8_t first, uint64_t seconds) EASYDATA_LAMBDA_INLINE {
        return _mm512_mask_cmpeq_epi8_mask(seconds, window, Byte(first));
      };
      const uint64_t chinese =
          leads & (_mm512_cmple_epu8_mask(_mm512_sub_epi8(window, Byte(0xE5)), Byte(0xE8 - 0xE5)) |
                   from(0xE4, AtLeast(second, 0xB8)) | from(0xE9, ~AtLeast(second, 0xBE)));
      const uint64_t korean =
          leads & (_mm512_cmple_epu8_mask(_mm512_sub_epi8(window, Byte(0xEB)), Byte(0xEC - 0xEB)) |
                   from(0xEA, AtLeast(second, 0xB0)) | from(0xED, ~AtLeast(second, 0x9E)));
      *classes = _mm512_mask_mov_epi8(*classes, chinese, Byte(kScanLetter | kScanCjk));
      *classes = _mm512_mask_mov_epi8(*classes, korean, Byte(kScanLetter));
      rest &= ~(chinese | korean);
    }
    const uint64_t kana = rest & Equal(window, '\xE3');
    if (__builtin_popcountll(kana) >= 4) {
      // Japanese takes kana and its punctuation from four rows all the time.
      const __m512i third = _mm512_maskz_permutexvar_epi8(~uint64_t{0} >> 1, next_indices, second);
      for (size_t row = 0x3000 / 64; row <= 0x30C0 / 64; ++row) {
        const uint64_t same = _mm512_mask_cmpeq_epi8_mask(
            kana, second, Byte(static_cast<uint8_t>(0x80 | (row & 0x3F))));
        *classes = _mm512_mask_permutexvar_epi8(*classes, same, third,
                                                _mm512_loadu_si512(table + row * 64));
        rest &= ~same;
      }
    }
    const auto* bytes = reinterpret_cast<const uint8_t*>(p);
    while (rest != 0) {
      const int i = __builtin_ctzll(rest);
      uint64_t same = rest & Equal(window, p[i]);
      size_t row;
      __m512i last = second;
      if (bytes[i] < 0xE0) {
        row = bytes[i] & 0x1F;
      } else {
        const __m512i third =
            _mm512_maskz_permutexvar_epi8(~uint64_t{0} >> 1, next_indices, second);
        same &= Equal(second, p[i + 1]);
        row = (bytes[i] & 0x0Fu) << 6 | (bytes[i + 1] & 0x3Fu);
        last = third;
        if (bytes[i] >= 0xF0) {
          same &= Equal(third, p[i + 2]);
          row = (bytes[i] & 0x07u) << 12 | (bytes[i + 1] & 0x3Fu) << 6 | (bytes[i + 2] & 0x3Fu);
          last = _mm512_maskz_permutexvar_epi8(~uint64_t{0} >> 1, next_indices, third);
        }
      }
      *classes =
          _mm512_mask_permutexvar_epi8(*classes, same, last, _mm512_loadu_si512(table + row * 64));
      rest &= ~same;
    }
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

  static inline __attribute__((always_inline)) unsigned EqualWords(const WordLine* line,
                                                                   __m128i key) {
    return _mm512_cmpeq_epi64_mask(_mm512_load_si512(line), _mm512_broadcast_i32x4(key));
  }

  static inline __attribute__((always_inline)) void Unpack(const uint64_t* packed, int32_t* out) {
    constexpr int kBits = WordTable::kPackedBits;
    const __m512i both =
        _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(packed)));
    const __m512i each = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 0, 1, 1, 1, 1, 1), both);
    const __m512i shifted =
        _mm512_srlv_epi64(each, _mm512_setr_epi64(0, kBits, 2 * kBits, 0, kBits, 2 * kBits, 0, 0));
    const __m512i ids = _mm512_and_si512(shifted, _mm512_set1_epi64(WordTable::kPackedMask));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi64_epi32(ids));
  }
};

#include "tokenizers/pretokenize/window_scanner.inc"
#include "tokenizers/simd_kernels.inc"

// Merging with the ranks of all pairs in registers: each is a number of rank and index, so that the
// smallest names the pair to merge, and the symbols that are left are the bits of a mask.
template <int kRegisters>
size_t MergeInRegisters(const MergeTables& tables, const uint8_t* bytes, int32_t* symbols,
                        size_t count) {
  constexpr int kIndexBits = 6;
  constexpr int32_t kNoPair = 0x7FFFFFFF;
  static_assert(MergeTables::kRankBits + kIndexBits < 31 && kRegisters * 16 <= 1 << kIndexBits);
  __m512i keys[kRegisters];
  uint8_t padded[kRegisters * 16 + 16] = {};
  std::memcpy(padded, bytes, count);
  for (int r = 0; r < kRegisters; ++r) {
    const auto load = [&](int offset) EASYDATA_LAMBDA_INLINE {
      return _mm512_cvtepu8_epi32(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(padded + r * 16 + offset)));
    };
    const __m512i pairs = _mm512_or_si512(_mm512_slli_epi32(load(0), 8), load(1));
    const __m512i indices = _mm512_add_epi32(
        _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(kByteIndexes.bytes))),
        _mm512_set1_epi32(r * 16));
    const __mmask16 inside =
        _mm512_cmplt_epi32_mask(indices, _mm512_set1_epi32(static_cast<int>(count) - 1));
    const __m512i none = _mm512_set1_epi32(-1);
    const __m512i ranks =
        _mm512_mask_i32gather_epi32(none, inside, pairs, tables.byte_pair_ranks, 4);
    keys[r] =
        _mm512_mask_or_epi32(_mm512_set1_epi32(kNoPair), _mm512_cmpneq_epi32_mask(ranks, none),
                             _mm512_slli_epi32(ranks, kIndexBits), indices);
  }
  const auto set_key = [&](int i, int32_t key) EASYDATA_LAMBDA_INLINE {
    const uint64_t bit = uint64_t{1} << i;
    for (int r = 0; r < kRegisters; ++r) {
      keys[r] = _mm512_mask_set1_epi32(keys[r], static_cast<__mmask16>(bit >> (r * 16)), key);
    }
  };
  const auto key_of = [&](int i, int32_t left, int32_t right) EASYDATA_LAMBDA_INLINE {
    const uint32_t rank = tables.FindRank(left, right);
    return rank == MergeTables::kNoRank
               ? kNoPair
               : static_cast<int32_t>(rank << kIndexBits | static_cast<uint32_t>(i));
  };
  uint64_t alive = _bzhi_u64(~uint64_t{0}, static_cast<unsigned>(count));
  for (;;) {
    __m512i least = keys[0];
    for (int r = 1; r < kRegisters; ++r) least = _mm512_min_epi32(least, keys[r]);
    const int32_t best = _mm512_reduce_min_epi32(least);
    if (best == kNoPair) break;
    const int i = best & ((1 << kIndexBits) - 1);
    const int32_t merged = tables.ResultOf(static_cast<uint32_t>(best) >> kIndexBits);
    symbols[i] = merged;
    const uint64_t above = alive & (~uint64_t{1} << i);
    const int gone = static_cast<int>(_tzcnt_u64(above));
    alive &= ~(uint64_t{1} << gone);
    set_key(gone, kNoPair);
    const uint64_t behind = above & (above - 1);
    set_key(i, behind == 0 ? kNoPair : key_of(i, merged, symbols[_tzcnt_u64(behind)]));
    const uint64_t before = _bzhi_u64(alive, static_cast<unsigned>(i));
    if (before != 0) {
      const int previous = 63 - static_cast<int>(_lzcnt_u64(before));
      set_key(previous, key_of(previous, symbols[previous], merged));
    }
  }
  size_t left = 0;
  for (uint64_t rest = alive; rest != 0; rest = _blsr_u64(rest))
    symbols[left++] = symbols[_tzcnt_u64(rest)];
  return left;
}

size_t Merge(const MergeTables& tables, const uint8_t* bytes, int32_t* symbols, size_t count) {
  if (count <= 16) return MergeInRegisters<1>(tables, bytes, symbols, count);
  if (count <= 32) return MergeInRegisters<2>(tables, bytes, symbols, count);
  return MergeInRegisters<4>(tables, bytes, symbols, count);
}

const Kernels kAvx512 = {"avx512",
                         WindowSplits(std::make_index_sequence<kNumSplitPatterns>()),
                         HashKey,
                         EncodeRun<PretokenRun>,
                         EncodeRun<WordRun>,
                         Merge};

}  // namespace
}  // namespace easydata::tokenizers

#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace easydata::tokenizers {

const Kernels* Avx512Kernels() { return &kAvx512; }

}  // namespace easydata::tokenizers

#else

namespace easydata::tokenizers {

const Kernels* Avx512Kernels() { return nullptr; }

}  // namespace easydata::tokenizers

#endif
