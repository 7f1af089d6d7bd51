#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "easydata/base/status.h"
#include "tokenizers/model/bpe_spec.h"
#include "tokenizers/model/model.h"

namespace easydata::tokenizers {

/// MakeModel of the model component in the text of a tokenizer.json.
Result<std::unique_ptr<const Model>> ModelFromFile(const std::string& json, bool words_are_bytes);

/// MakeModel of the JSON text of a model component.
Result<std::unique_ptr<const Model>> ModelFromJson(const std::string& model,
                                                   bool words_are_bytes = false);

/// The same where that must succeed.
std::unique_ptr<const Model> MakeTestModel(const std::string& model, bool words_are_bytes = false);

/// The ids of a word; fails the test where there are none.
std::vector<int32_t> EncodeWord(const Model& model, std::string_view word);

/// The content of a test model of type BPE.
struct BpeFile {
  /// Strings that are tokens for themselves, in the order of their ids.
  std::vector<std::string> tokens;
  std::vector<std::pair<std::string, std::string>> merges;
  std::string unk_token;  // "": none
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
  std::string prefix;
  std::string suffix;

  /// Adds the results of merges that no token is yet, and the tokens <0xHH> of all bytes.
  void AddMergeResults();
  void AddByteTokens();

  /// The JSON text of the model component.
  std::string ToJson() const;

  /// The ids of a word by the reference implementation, slow and obvious, which every BPE model is
  /// compared with.
  std::vector<int32_t> Encode(std::string_view word) const;
};

}  // namespace easydata::tokenizers
