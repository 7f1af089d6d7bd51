#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/python_error.h"
#include "tokenizers/postprocess/padding.h"
#include "tokenizers/tokenizer.h"

namespace easydata {

/// The `tokenizers` library behind the engine's interface, for files that the native engine does
/// not take.
///
/// Arrow data goes in and comes out; rows become Python strings in C++, and the GIL is held only
/// there and while ids are collected (the library itself lets go of it).
class HuggingFaceEncoder final : public tokenizers::TextCodec {
 public:
  /// `tokenizer` is a `tokenizers.Tokenizer` made of `json`, its encode_special_tokens perhaps set;
  /// nothing else may change it. `truncate_left`: a max_length cuts off the beginnings of texts.
  HuggingFaceEncoder(nb::object tokenizer, std::string json, bool truncate_left);
  ~HuggingFaceEncoder() override;

  Result<std::shared_ptr<arrow::Array>> EncodeBatch(const arrow::Array& texts,
                                                    const tokenizers::EncodeOptions& options,
                                                    tokenizers::CutTexts* cut) const override;
  Status Encode(std::string_view text, const tokenizers::EncodeOptions& options,
                std::vector<int32_t>* ids) const override;
  Result<std::shared_ptr<arrow::Array>> EncodeChunked(const arrow::ChunkedArray& texts,
                                                      const tokenizers::EncodeOptions& options,
                                                      int num_threads,
                                                      tokenizers::CutTexts* cut) const override;
  /// What the library decodes ids to; Invalid where it fails.
  Result<std::string> Decode(std::span<const int32_t> ids, bool skip_special_tokens) const override;
  Result<std::shared_ptr<arrow::Array>> DecodeBatch(const arrow::Array& lists,
                                                    bool skip_special_tokens,
                                                    int num_threads) const override;
  std::optional<int32_t> TokenToId(std::string_view token) const override;
  std::optional<std::string> IdToToken(int32_t id) const override;
  Result<std::vector<int32_t>> AddedIds() const override;

  std::string fingerprint() const override { return fingerprint_; }
  const char* engine() const override { return "huggingface"; }
  int64_t vocab_size() const override { return vocab_size_; }
  int64_t id_limit() const override { return id_limit_; }

 private:
  // The tokenizer that truncates to `max_length`: one per length, since truncation is part of its
  // state.
  const nb::object& TokenizerFor(int64_t max_length) const;

  // What `work` asks the library's object; where that fails, which is told aside, nothing.
  template <typename T, typename Work>
  T Ask(const Work& work) const;

  nb::object tokenizer_;                        // does not pad
  std::optional<tokenizers::Padding> padding_;  // the file's, if it has one
  bool truncate_left_;
  mutable std::map<int64_t, nb::object> truncating_;  // guarded by the GIL
  std::string json_;
  std::string fingerprint_;
  int64_t vocab_size_;
  int64_t id_limit_ = 0;
};

}  // namespace easydata
