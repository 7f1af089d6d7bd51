#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tokenizers/model/merge_tables.h"
#include "tokenizers/pretokenize/split_scanner.h"

namespace easydata::tokenizers {

class WordEncoder;
struct Word;
struct WordKey;

/// Pretokens of a text: number i is text[ends[i-1], ends[i]), the first starts at `begin`.
struct PretokenRun {
  const char* text;
  size_t begin;
  const uint32_t* ends;
  size_t count;
  /// Bytes before it may be read.
  const char* readable_end;
};

/// Words of a text with gaps between them.
struct WordRun {
  const char* text;
  const Word* words;
  size_t count;
  /// Bytes before it may be read.
  const char* readable_end;
};

/// The loops that run once per byte or per pretoken, in one version per kind of processor.
struct Kernels {
  const char* name;
  /// By SplitPattern.
  std::array<SplitFunction, kNumSplitPatterns> split;
  /// The hash by which word caches are filled and searched.
  uint64_t (*hash_key)(const WordKey& key);
  /// Writes the ids of the words to `out`, which has room for one id per byte of them and
  /// WordEncoder::kSpareIds more. Returns the end.
  int32_t* (*encode)(const PretokenRun& run, WordEncoder* encoder, int32_t* out);
  int32_t* (*encode_words)(const WordRun& run, WordEncoder* encoder, int32_t* out);
  MergeFunction merge;
};

/// The best kernels for this processor. For tests and measurements, EASYDATA_TOKENIZER_KERNELS in
/// the environment names others (scalar, avx2, avx512) if the processor has them.
const Kernels& BestKernels();

/// Kernels by name, or nullptr when this build or processor lacks them.
const Kernels* FindKernels(const char* name);

}  // namespace easydata::tokenizers
