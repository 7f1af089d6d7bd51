#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "easydata/config/field.h"

namespace easydata {

/// What ids of tokens mean: those of one tokenizer.
struct Vocabulary {
  /// tokenizers::TextEncoder::fingerprint() of the tokenizer.
  std::string fingerprint;
  /// What people call it: the name of its folder; "": nobody said.
  std::string name;
  /// One more than the largest id.
  int64_t id_limit = 0;
  std::optional<int32_t> eos_id = {};
  std::optional<int32_t> bos_id = {};
  std::optional<int32_t> pad_id = {};
  /// The ids of special and added tokens as ranges [first, last], in order; none: none is known.
  std::vector<std::pair<int32_t, int32_t>> added = {};
  /// The file that tells of it, beside tokens that were made before; "": a tokenizer at work.
  std::string file = {};
  /// The text of a token; null where the tokenizer is not at hand.
  std::function<std::optional<std::string>(int32_t)> token_of = {};

  bool is_stored() const { return !file.empty(); }
  /// Whether an id is one that text is made of: neither a special nor an added token. False where
  /// none of these is known.
  bool IsOrdinary(int32_t id) const;
  /// Whether an id is the same token in both, and ends and padding are the same.
  bool IsLike(const Vocabulary& other) const;
  /// "'gpt2' (fingerprint 0123456789ab)", with the file that tells of it.
  std::string Shown() const;
};

using VocabularyPtr = std::shared_ptr<const Vocabulary>;

/// Ids in ascending order, each once, as ranges.
std::vector<std::pair<int32_t, int32_t>> RangesOf(std::vector<int32_t> ids);

/// The vocabularies that the tokens of a stream are of.
struct Vocabularies {
  /// Each once, in the order of the streams that they come from.
  std::vector<VocabularyPtr> known = {};
  /// Whether there may be tokens of which nothing is known.
  bool has_unknown = true;

  /// That of all tokens; null: there are several, or it is not known.
  const Vocabulary* only() const {
    return known.size() == 1 && !has_unknown ? known.front().get() : nullptr;
  }
  /// The token of padding: of the first that has one; what has none is padded with its EOS.
  std::optional<int32_t> pad_id() const;
  /// One more than the largest id of all; nothing where it is not known.
  std::optional<int64_t> id_limit() const;
  /// What is wrong with an id that a user names, where it is beyond the limit; "" for nothing.
  std::string ProblemOf(int64_t id) const;
  void Add(const VocabularyPtr& vocabulary);
};

/// Asks what the tokens of a stream are of: once, when somebody has to know. A file that tells is
/// looked into, as for its schema.
using VocabularyFunction = std::function<Result<Vocabularies>()>;

/// Tokens of one vocabulary; null: it is not known.
VocabularyFunction AllOf(VocabularyPtr vocabulary);

/// What is asked for once, by whoever asks first; the others wait. Thread-safe.
template <typename T>
std::function<Result<T>()> AskedOnce(std::function<Result<T>()> ask) {
  struct Answer {
    std::mutex mutex;
    std::optional<Result<T>> known;
  };
  return [ask = std::move(ask), answer = std::make_shared<Answer>()]() -> Result<T> {
    std::lock_guard<std::mutex> lock(answer->mutex);
    if (!answer->known.has_value()) answer->known.emplace(ask());
    // What was cut off is asked for again.
    if (answer->known->status().IsCancelled()) return std::exchange(answer->known, {}).value();
    return *answer->known;
  };
}

/// Files and metadata keep the vocabularies of their tokens under this key, as JSON.
inline constexpr char kVocabularyKey[] = "easydata.vocabulary";

/// Whether rows may have tokens: there is a column of lists of integers.
bool MayHaveTokens(const arrow::Schema& schema);

nlohmann::json ToJson(const Vocabulary& vocabulary);
/// What files of these tokens say of them; "" where nothing is known. Tokens of which nothing is
/// known are a null.
std::string VocabularyText(const Vocabularies& vocabularies);
/// Undoes VocabularyText(), of a file; what cannot be read is not known.
Vocabularies VocabulariesFromText(std::string_view text, const std::string& file);

/// A stream that is joined with others.
struct JoinedStream {
  /// What the user calls it: "sources[\"a\"]".
  std::string name;
  VocabularyFunction vocabularies;  // null: not known
};

/// What comes of joining streams of tokens.
struct JoinedVocabularies {
  Vocabularies all;
  /// By stream, the EOS that closes its documents where they do not say it themselves; empty where
  /// the documents of all are closed by the same.
  std::vector<std::optional<int32_t>> ends;
  /// What is worth a warning; "": nothing.
  std::string notice;
};

/// What users say of joining tokens.
struct VocabularyOptions {
  static constexpr const char* kName = "VocabularyOptions";
  static constexpr const char* kDoc = "Whether tokens of several tokenizers may be one stream.";
  static constexpr const char* kNodes[] = {"mix"};

  bool allow_vocabularies = false;

  static config::FieldList Fields();
};

/// Joins streams, of which each document keeps its meaning only where all are of one vocabulary.
///
/// Tokenizers at work that differ are worth a notice. Tokens that were made before and are of
/// another vocabulary are Invalid unless `allow`, naming both streams and their tokenizers. What is
/// not known goes with all, which is worth a notice beside what is known.
Result<JoinedVocabularies> JoinVocabularies(const std::vector<JoinedStream>& streams, bool allow);

/// Is told what is worth a warning.
using NoticeFunction = std::function<void(const std::string& notice)>;

/// How streams are joined.
struct JoinOptions {
  VocabularyOptions vocabularies = {};
  NoticeFunction notice = {};  // may be null
};

/// Tells the first notice only: streams of one plan are made several times.
NoticeFunction ToldOnce(NoticeFunction notice);

/// Joins streams when somebody has to know: once.
std::function<Result<JoinedVocabularies>()> JoinedOnce(std::vector<JoinedStream> streams,
                                                       JoinOptions options);
/// The vocabularies of all streams that are joined.
VocabularyFunction AllOf(std::function<Result<JoinedVocabularies>()> joined);

}  // namespace easydata
