#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "operators/python_error.h"
#include "tokenizers/postprocess/padding.h"
#include "tokenizers/tokenizer.h"

namespace easydata {

/// The `tokenizers` library behind the engine's interface, for files that the native engine does
/// not take.
///
/// Arrow data goes in and comes out; rows become Python strings in C++, and the GIL is held only
/// there and while ids are collected (the library itself lets go of it).
class HuggingFaceEncoder final : public tokenizers::TextEncoder {
 public:
  /// `tokenizer` is a `tokenizers.Tokenizer` made of `json`, its encode_special_tokens perhaps set;
  /// nothing else may change it. `truncate_left`: a max_length cuts off the beginnings of texts.
  HuggingFaceEncoder(nb::object tokenizer, std::string json, bool truncate_left);
  ~HuggingFaceEncoder() override;

  Result<std::shared_ptr<arrow::Array>> EncodeBatch(const arrow::Array& texts,
                                                    const tokenizers::EncodeOptions& options,
                                                    tokenizers::CutTexts* cut) const override;
  /// What the library decodes ids to; Invalid where it fails. Needs the GIL.
  Result<std::string> Decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  std::string fingerprint() const override { return fingerprint_; }
  const char* engine() const override { return "huggingface"; }
  int64_t vocab_size() const override { return vocab_size_; }
  int64_t id_limit() const override { return id_limit_; }

  /// The library's object, for what needs no speed; it does not pad. Needs the GIL.
  const nb::object& tokenizer() const { return tokenizer_; }

  /// The file's padding, if it has one: the texts of EncodeBatch are a batch, if options.pad is
  /// set.
  const std::optional<tokenizers::Padding>& padding() const { return padding_; }

 private:
  // The tokenizer that truncates to `max_length`: one per length, since truncation is part of its
  // state.
  const nb::object& TokenizerFor(int64_t max_length) const;

  nb::object tokenizer_;
  std::optional<tokenizers::Padding> padding_;
  bool truncate_left_;
  mutable std::map<int64_t, nb::object> truncating_;  // guarded by the GIL
  std::string json_;
  std::string fingerprint_;
  int64_t vocab_size_;
  int64_t id_limit_ = 0;
};

}  // namespace easydata
