#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "easydata/base/status.h"
#include "tokenizers/id_buffer.h"
#include "tokenizers/model/merge_tables.h"

namespace easydata::tokenizers {

/// Working memory of a model; one per thread.
struct ModelScratch {
  virtual ~ModelScratch() = default;
};

/// The vocabulary and the algorithm that turn a word, as the pre-tokenizer cuts it, into ids.
/// Immutable and thread-safe.
class Model {
 public:
  virtual ~Model() = default;

  /// Working memory for EncodeWord.
  virtual std::unique_ptr<ModelScratch> MakeScratch() const = 0;

  /// Appends the ids of one word, which is not empty and valid UTF-8 (any bytes for a model that
  /// takes raw bytes). Invalid where the reference raises; `ids` may then hold some of them.
  virtual Status EncodeWord(std::string_view word, ModelScratch* scratch, IdBuffer* ids) const = 0;

  /// How many ids a word can have per byte at most.
  virtual size_t max_ids_per_byte() const { return 1; }

  /// The number of tokens in the vocabulary.
  virtual int64_t size() const = 0;

  /// Largest id plus one.
  virtual int64_t id_limit() const = 0;

  /// A token's id, or -1; an id's token as the file spells it, or nothing.
  virtual int32_t TokenToId(std::string_view token) const = 0;
  virtual std::optional<std::string_view> IdToToken(int32_t id) const = 0;
};

struct ModelOptions {
  /// Words come as raw bytes, not in the byte-level alphabet that the vocabulary is spelled in.
  bool words_are_bytes = false;
  /// The text of the whole file: how it spells the scores of a Unigram model matters, since the
  /// reference does not round them correctly.
  std::string_view json;
  MergeFunction merge = MergeScalar;
};

/// Makes the model of a tokenizer.json, guessing a `type` that is missing as the reference does.
/// NotImplemented for what the native engine does not take.
Result<std::unique_ptr<const Model>> MakeModel(simdjson::dom::element component,
                                               const ModelOptions& options);

}  // namespace easydata::tokenizers
