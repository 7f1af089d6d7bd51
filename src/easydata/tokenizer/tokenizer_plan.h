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
#include "easydata/tokenizer/added_tokens.h"
#include "easydata/tokenizer/decode/text_decoder.h"
#include "easydata/tokenizer/kernels.h"
#include "easydata/tokenizer/model/model.h"
#include "easydata/tokenizer/model/word_cache.h"
#include "easydata/tokenizer/normalize/normalizer.h"
#include "easydata/tokenizer/piece_encoder.h"
#include "easydata/tokenizer/postprocess/padding.h"
#include "easydata/tokenizer/postprocess/post_processor.h"
#include "easydata/tokenizer/postprocess/truncation.h"
#include "easydata/tokenizer/pretokenize/pre_tokenizer.h"
#include "easydata/tokenizer/tokenizer.h"

namespace easydata {

/// What a tokenizer.json comes to: its components, and the fastest exact way to run them.
/// Immutable.
class TokenizerPlan {
 public:
  /// NotImplemented, naming the component, for a file that the native engine does not take;
  /// Invalid for text that is not a JSON object.
  static Result<std::unique_ptr<const TokenizerPlan>> Make(std::string_view json,
                                                           const TokenizerOptions& options);

  /// nullptr: text stays as it is, or the encoders normalize it themselves.
  const Normalizer* normalizer() const { return encoders_normalize_ ? nullptr : normalizer_.get(); }
  const AddedTokens& added() const { return added_; }
  const Model& model() const { return *model_; }
  const PostProcessing& post() const { return post_; }
  const std::optional<Truncation>& truncation() const { return truncation_; }
  const std::optional<Padding>& padding() const { return padding_; }
  const std::shared_ptr<const TextDecoder>& decoder() const { return decoder_; }

  /// Words that MakeEncoder's encoders may know from the start.
  std::vector<WordSlot> MakeSeeds() const;

  /// An encoder of the pieces between added tokens. The plan outlives it.
  std::unique_ptr<PieceEncoder> MakeEncoder(const std::vector<WordSlot>& seeds) const;

  /// What runs each step, by the step's name, for people to read.
  const std::vector<std::pair<std::string, std::string>>& steps() const { return steps_; }

 private:
  struct File;

  TokenizerPlan() = default;

  Status Init(std::string_view json, const TokenizerOptions& options);
  Status MakeModelAndPreTokenizer(const File& file, std::string_view json);
  Status ChooseEncoder(const File& file);

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
  std::function<std::vector<WordSlot>()> make_seeds_;
  std::function<std::unique_ptr<PieceEncoder>(const std::vector<WordSlot>&)> make_encoder_;
  std::vector<std::pair<std::string, std::string>> steps_;
};

}  // namespace easydata
