#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bindings.h"
#include "easydata/tokenizer/tokenizer.h"

namespace easydata {

/// The `tokenizers` library behind the engine's interface, for files that the native engine does
/// not take.
///
/// Arrow data goes in and comes out; rows become Python strings in C++, and the GIL is held only
/// there and while ids are collected (the library itself lets go of it).
class HuggingFaceEncoder final : public TextEncoder {
 public:
  /// `tokenizer` is a `tokenizers.Tokenizer` made of `json`; nothing else may change it.
  HuggingFaceEncoder(nb::object tokenizer, std::string json);
  ~HuggingFaceEncoder() override;

  Result<std::shared_ptr<arrow::Array>> EncodeBatch(const arrow::Array& texts,
                                                    const EncodeOptions& options,
                                                    int64_t* num_truncated) const override;
  std::string fingerprint() const override { return fingerprint_; }
  const char* engine() const override { return "huggingface"; }
  int64_t vocab_size() const override { return vocab_size_; }

  /// The library's object, for what needs no speed. Needs the GIL.
  const nb::object& tokenizer() const { return tokenizer_; }

 private:
  // The tokenizer that truncates to `max_length`: one per length, since truncation is part of its
  // state.
  const nb::object& TokenizerFor(int64_t max_length) const;

  nb::object tokenizer_;
  mutable std::map<int64_t, nb::object> truncating_;  // guarded by the GIL
  std::string json_;
  std::string fingerprint_;
  int64_t vocab_size_;
};

}  // namespace easydata
