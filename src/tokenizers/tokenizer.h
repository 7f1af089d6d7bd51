#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"

namespace easydata::tokenizers {

class TextDecoder;

/// Options for encoding texts.
struct EncodeOptions {
  /// Let the file's post-processor add its special tokens.
  bool add_special_tokens = true;
  /// Largest number of ids, the special tokens included; longer texts lose their end (or beginning:
  /// TokenizerOptions::truncate_left), as with the reference's `enable_truncation`. 0 means the
  /// file's own; a number smaller than that of the special tokens means no truncation, as with the
  /// reference.
  int64_t max_length = 0;
  /// Let the file's padding, if it has one, pad texts. The texts of one call are one batch.
  bool pad = false;
  /// Count the ids that max_length cuts: texts are then encoded to their end.
  bool count_cut = false;
};

/// What max_length cut.
struct CutTexts {
  static constexpr size_t kMostRows = 5;

  int64_t texts = 0;
  int64_t ids = 0;  // with EncodeOptions::count_cut
  /// The rows of the first ones.
  std::vector<int64_t> first_rows = {};

  /// Notes that the text of a row was cut, where it is one of the first.
  void NoteRow(int64_t row) {
    if (first_rows.size() < kMostRows) first_rows.push_back(row);
  }
  /// Adds what was cut of the next chunk of the same texts, whose row 0 is `first_row` of all.
  void Add(const CutTexts& next, int64_t first_row);
};

/// Encodes text to ids: the interface that stages use. Thread-safe.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;

  /// Encodes every text of a string or large_string array, on the calling thread.
  ///
  /// Returns list<int32>, or large_list<int32> if there are more than 2^31 - 1 ids. A null text
  /// gives a null list of no ids. `cut`, if given, is set to what max_length cut. Invalid, naming
  /// row and byte, for text that is not UTF-8.
  virtual Result<std::shared_ptr<arrow::Array>> EncodeBatch(const arrow::Array& texts,
                                                            const EncodeOptions& options,
                                                            CutTexts* cut = nullptr) const = 0;

  /// Hexadecimal hash of the tokenizer.json's content (white space apart).
  virtual std::string fingerprint() const = 0;

  /// "native" or "huggingface".
  virtual const char* engine() const = 0;

  /// The number of tokens, added ones included.
  virtual int64_t vocab_size() const = 0;

  /// One more than the largest id; more than vocab_size() where ids have holes.
  virtual int64_t id_limit() const = 0;
};

/// A tokenizer as a whole, whichever engine has it: it also takes single texts, and decodes.
/// Thread-safe.
class TextCodec : public TextEncoder {
 public:
  /// Replaces `*ids` by the ids of one text. Invalid, naming the byte, for text that is not UTF-8.
  virtual Status Encode(std::string_view text, const EncodeOptions& options,
                        std::vector<int32_t>* ids) const = 0;

  /// EncodeBatch of all chunks, which are one batch, with its errors; rows in `cut` are counted
  /// through all chunks. `num_threads`: of its own, for an engine that has some; the result does
  /// not depend on their number.
  virtual Result<std::shared_ptr<arrow::Array>> EncodeChunked(const arrow::ChunkedArray& texts,
                                                              const EncodeOptions& options,
                                                              int num_threads,
                                                              CutTexts* cut = nullptr) const = 0;

  /// The text of ids, without special tokens where they are skipped. Ids without a token give none;
  /// Invalid where the engine fails at them.
  virtual Result<std::string> Decode(std::span<const int32_t> ids,
                                     bool skip_special_tokens) const = 0;
  /// The same of the rows of a list<int32> or large_list<int32> array, a null row to a null:
  /// string, or large_string, which the native engine gives beyond 2^31 - 1 bytes. `num_threads` as
  /// above. TypeError for other arrays, Invalid where an id is null; messages name the row.
  virtual Result<std::shared_ptr<arrow::Array>> DecodeBatch(const arrow::Array& lists,
                                                            bool skip_special_tokens,
                                                            int num_threads) const = 0;

  /// The id of a token as the file spells it, an added token's first; nothing when there is none.
  virtual std::optional<int32_t> TokenToId(std::string_view token) const = 0;
  /// The token of an id as the file spells it; nothing when there is none.
  virtual std::optional<std::string> IdToToken(int32_t id) const = 0;
  /// The ids of tokens that stand beside those that text is made of; an error where the engine
  /// cannot tell them.
  virtual Result<std::vector<int32_t>> AddedIds() const = 0;
};

/// Options beside the file; all but the last two concern cost, never results.
struct TokenizerOptions {
  /// Memory that each thread at work spends on remembering words.
  int64_t word_cache_bytes = int64_t{16} << 20;
  /// Kernels by name (scalar, avx2, avx512); empty: the best that the processor has.
  std::string kernels;
  /// Text that spells special tokens is text like any other (the reference's
  /// encode_special_tokens): this one concerns results.
  bool split_special_tokens = false;
  /// EncodeOptions::max_length cuts off the beginnings of texts, not their ends: this one, too.
  bool truncate_left = false;
};

/// Returns the fingerprint of a TextEncoder of this tokenizer.json text: of the options, those that
/// concern results count.
std::string TokenizerFingerprint(std::string_view json, const TokenizerOptions& options = {});

/// The native engine: all of tokenizer.json but the regexes that cannot be translated exactly.
///
/// Ids are those of the `tokenizers` library, profile 0.23, for every valid UTF-8 text. Immutable
/// and thread-safe; the working memory of threads is kept for the next ones.
class Tokenizer final : public TextCodec {
 public:
  /// Makes a tokenizer of the text of a tokenizer.json. NotImplemented, naming the component, for a
  /// file that the engine does not support; Invalid for text that is not a JSON object.
  static Result<std::shared_ptr<const Tokenizer>> FromJson(std::string_view json,
                                                           const TokenizerOptions& options = {});

  /// FromJson of a file; IOError when it cannot be read.
  static Result<std::shared_ptr<const Tokenizer>> FromFile(const std::string& path,
                                                           const TokenizerOptions& options = {});

  ~Tokenizer() override;

  Status Encode(std::string_view text, const EncodeOptions& options,
                std::vector<int32_t>* ids) const override;

  Result<std::shared_ptr<arrow::Array>> EncodeBatch(const arrow::Array& texts,
                                                    const EncodeOptions& options,
                                                    CutTexts* cut = nullptr) const override;

  Result<std::shared_ptr<arrow::Array>> EncodeChunked(const arrow::ChunkedArray& texts,
                                                      const EncodeOptions& options, int num_threads,
                                                      CutTexts* cut = nullptr) const override;

  Result<std::string> Decode(std::span<const int32_t> ids, bool skip_special_tokens) const override;
  Result<std::shared_ptr<arrow::Array>> DecodeBatch(const arrow::Array& lists,
                                                    bool skip_special_tokens,
                                                    int num_threads) const override;

  /// Decodes ids to text; shared, and may outlive the tokenizer.
  std::shared_ptr<const TextDecoder> decoder() const;

  std::optional<int32_t> TokenToId(std::string_view token) const override;
  std::optional<std::string> IdToToken(int32_t id) const override;
  Result<std::vector<int32_t>> AddedIds() const override;

  /// What is asked of an added token besides its text.
  struct AddedFlags {
    bool special = false;
    bool strips_left = false;  // white space before it is its own
    bool strips_right = false;
    bool normalized = false;   // it is looked for in normalized text
    bool single_word = false;  // letters beside it make it text
  };
  /// The added tokens, by id.
  std::vector<std::pair<int32_t, AddedFlags>> AddedTokenFlags() const;

  std::string fingerprint() const override;
  const char* engine() const override { return "native"; }
  int64_t vocab_size() const override;
  int64_t id_limit() const override;

  /// What runs each step, by the step's name, for display.
  const std::vector<std::pair<std::string, std::string>>& steps() const;

 private:
  class Impl;

  explicit Tokenizer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace easydata::tokenizers
