#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/added_tokens.h"
#include "tokenizers/decode/text_decoder.h"
#include "tokenizers/kernels.h"
#include "tokenizers/model/metaspace_bpe.h"
#include "tokenizers/model/model.h"
#include "tokenizers/model/safe_cuts.h"
#include "tokenizers/normalize/normalizer.h"
#include "tokenizers/piece_encoder.h"
#include "tokenizers/postprocess/padding.h"
#include "tokenizers/postprocess/post_processor.h"
#include "tokenizers/postprocess/truncation.h"
#include "tokenizers/pretokenize/pre_tokenizer.h"
#include "tokenizers/tokenizer.h"

namespace easydata::tokenizers {

/// Tables that encoders share: made with the first encoder, not at load.
struct EncoderTables {
  std::unique_ptr<const SafeCuts> cuts;
};

/// The components of a tokenizer.json, and the fastest exact way to run them. Immutable.
class TokenizerPlan {
 public:
  /// NotImplemented, naming the component, for a file that the native engine does not support;
  /// Invalid for text that is not a JSON object.
  static Result<std::unique_ptr<const TokenizerPlan>> Make(std::string_view json,
                                                           const TokenizerOptions& options);

  /// nullptr: text stays as it is.
  const Normalizer* normalizer() const { return normalizer_.get(); }

  /// Whether MakeEncoder's encoders take this piece as it is, not normalized, since they do that
  /// themselves and it holds no normalized added token.
  bool TakesRaw(std::string_view piece) const {
    return encoders_normalize_ && (guard_ == nullptr || !guard_->Occurs(piece));
  }
  bool encoders_normalize() const { return encoders_normalize_; }

  /// Whether encoders need the origin of pieces that do not begin their text, or begin it after a
  /// normalizer.
  bool asks_for_origin() const { return pre_tokenizer_.asks_for_origin; }

  const AddedTokens& added() const { return added_; }
  const Model& model() const { return *model_; }
  const PostProcessing& post() const { return post_; }
  const std::optional<Truncation>& truncation() const { return truncation_; }
  const std::optional<Padding>& padding() const { return padding_; }
  const std::shared_ptr<const TextDecoder>& decoder() const { return decoder_; }

  EncoderTables MakeTables() const { return make_tables_(); }

  /// The fastest encoder of the pieces between added tokens. The plan and `tables`, which are
  /// MakeTables(), outlive it.
  std::unique_ptr<PieceEncoder> MakeEncoder(const EncoderTables& tables) const {
    return make_encoder_(tables);
  }

  /// An encoder of normalized pieces, whatever they are.
  std::unique_ptr<PieceEncoder> MakeStagedEncoder() const;

  /// What runs each step, by the step's name, for display.
  const std::vector<std::pair<std::string, std::string>>& steps() const { return steps_; }

 private:
  struct File;

  TokenizerPlan() = default;

  Status Init(std::string_view json, const TokenizerOptions& options);
  Status MakeModelAndPreTokenizer(const File& file, std::string_view json);
  void ChooseEncoder(const File& file);
  bool ChooseByteLevel();
  bool ChooseMetaspace(const File& file);
  bool ChooseBert(const File& file);
  bool GuardMetaspaceTokens();
  void AddEncoderStep(const char* what);

  const Kernels* kernels_ = nullptr;
  int64_t word_cache_bytes_ = 0;
  std::unique_ptr<const Normalizer> normalizer_;
  PreTokenizerPlan pre_tokenizer_;
  std::unique_ptr<const Model> model_;
  AddedTokens added_;
  PostProcessing post_;
  std::optional<Truncation> truncation_;
  std::optional<Padding> padding_;
  std::shared_ptr<const TextDecoder> decoder_;
  bool encoders_normalize_ = false;
  std::vector<AddedToken> guard_tokens_;
  // Finds what normalized tokens leave in raw text.
  std::unique_ptr<const AddedTokenMatcher> guard_;
  std::unique_ptr<const MetaspaceBpe> metaspace_;
  std::unique_ptr<const PreTokenizer> bert_words_;
  std::function<EncoderTables()> make_tables_ = [] { return EncoderTables(); };
  std::function<std::unique_ptr<PieceEncoder>(const EncoderTables&)> make_encoder_;
  std::vector<std::pair<std::string, std::string>> steps_;
};

}  // namespace easydata::tokenizers
