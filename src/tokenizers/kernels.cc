#include "tokenizers/kernels.h"

#include <cstdlib>
#include <cstring>

#include "easydata/base/hash.h"
#include "tokenizers/model/word_encoder.h"
#include "tokenizers/simd_types.h"
#include "tokenizers/word_bounds.h"

namespace easydata::tokenizers {
namespace {

template <typename Run>
int32_t* EncodeScalar(const Run& run, WordEncoder* encoder, int32_t* out) {
  WordBounds<Run> bounds(run);
  for (size_t i = 0; i < run.count; ++i) {
    const Word bound = bounds.Next(i);
    const std::string_view word(run.text + bound.begin, bound.end - bound.begin);
    if (word.size() > kMaxWordKeyBytes) {
      out += encoder->EncodeUnknown(word, Hash64(word), out);
      continue;
    }
    const WordKey key = MakeWordKey(word);
    const uint64_t hash = HashWordKey(key);
    const uint64_t* const packed = encoder->cache().table().FindInLine(hash, key);
    out += packed != nullptr ? WordTable::Unpack(packed, out)
                             : encoder->EncodeUnknown(word, hash, out);
  }
  return out;
}

const Kernels kScalar = {
    "scalar",   ScalarSplits(), HashWordKey, EncodeScalar<PretokenRun>, EncodeScalar<WordRun>,
    MergeScalar};

}  // namespace

const Kernels* FindKernels(const char* name) {
  if (std::strcmp(name, kScalar.name) == 0) return &kScalar;
#if defined(__x86_64__) && defined(__GNUC__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("sse4.2");
  const bool has_avx512 =
      has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vbmi2");
  if (has_avx2 && std::strcmp(name, "avx2") == 0) return Avx2Kernels();
  if (has_avx512 && std::strcmp(name, "avx512") == 0) return Avx512Kernels();
#endif
  return nullptr;
}

const Kernels& BestKernels() {
  static const Kernels* const best = [] {
    if (const char* name = std::getenv("EASYDATA_TOKENIZER_KERNELS"); name != nullptr) {
      if (const Kernels* kernels = FindKernels(name); kernels != nullptr) return kernels;
    }
    for (const char* name : {"avx512", "avx2"}) {
      if (const Kernels* kernels = FindKernels(name); kernels != nullptr) return kernels;
    }
    return &kScalar;
  }();
  return *best;
}

}  // namespace easydata::tokenizers
